#include <cstring>
#include <limits>

#include "graph/ops/resolve.h"
#include "kernels/blocks.h"
#include "kernels/ref/infos.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

void copy_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

std::int64_t element_bytes(const Tensor& tensor) {
  return static_cast<std::int64_t>(size_of(tensor.dtype()));
}

// Fills `out` in order from elements of `in` that lie `strides` elements apart.
void gather(const std::byte* in, const Shape& strides, Tensor& out, ThreadPool& pool) {
  std::int64_t bytes = element_bytes(out);
  std::byte* to = out.mutable_bytes().data();
  for_blocks(pool, out.size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      copy_bytes(in + offset_of(i, out.shape(), strides, strides.size()) * bytes, to + i * bytes, bytes);
  });
}

// The axis of concat and split: an attribute, or an input that overrides it.
std::int64_t axis_of(const KernelArgs& args, int rank) {
  const Tensor* given = args.input("axis");
  std::int64_t axis = given ? to_int64s(*given)[0] : attr<std::int64_t>(args.node, "axis");
  return ops::normalize_axis(axis, static_cast<std::size_t>(rank));
}

}  // namespace

void identity(const KernelArgs& args) {
  copy_bytes(args.inputs[0]->bytes().data(), args.outputs[0].mutable_bytes().data(),
             static_cast<std::int64_t>(args.outputs[0].size_bytes()));
}

void transpose(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  Shape x_strides = strides_of(x.shape()), strides;
  for (std::size_t i : ops::permutation(args.node, x.shape().size())) strides.push_back(x_strides[i]);
  gather(x.bytes().data(), strides, args.outputs[0], args.pool);
}

void concat(const KernelArgs& args) {
  Tensor& y = args.outputs[0];
  std::int64_t axis = axis_of(args, y.rank()), done = 0;
  AxisView to = along(y.shape(), axis);
  for (const Tensor* x : args.inputs.subspan(1)) {
    AxisView from = along(x->shape(), axis);
    std::int64_t bytes = element_bytes(y), chunk = from.size * from.inner * bytes;
    for (std::int64_t i = 0; i < to.outer; ++i) {
      copy_bytes(x->bytes().data() + i * chunk,
                 y.mutable_bytes().data() + (i * to.size + done) * to.inner * bytes, chunk);
    }
    done += from.size;
  }
}

void split(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  std::int64_t axis = axis_of(args, x.rank()), done = 0;
  AxisView from = along(x.shape(), axis);
  for (Tensor& y : args.outputs) {
    AxisView to = along(y.shape(), axis);
    std::int64_t bytes = element_bytes(x), chunk = to.size * to.inner * bytes;
    for (std::int64_t i = 0; i < from.outer; ++i) {
      copy_bytes(x.bytes().data() + (i * from.size + done) * from.inner * bytes,
                 y.mutable_bytes().data() + i * chunk, chunk);
    }
    done += to.size;
  }
}

void slice(const KernelArgs& args) {
  InputInfos inputs(args);
  const Tensor& x = *args.inputs[0];
  Shape x_strides = strides_of(x.shape()), strides;
  std::int64_t begin = 0;
  std::vector<ops::SliceDim> dims = ops::slice_dims(args.node, inputs.get());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    begin += dims[i].begin * x_strides[i];
    if (!dims[i].dropped) strides.push_back(x_strides[i] * dims[i].step);
  }
  Tensor& y = args.outputs[0];
  if (y.size() > 0) gather(x.bytes().data() + begin * element_bytes(x), strides, y, args.pool);
}

void shape(const KernelArgs& args) {
  const Shape& dims = args.inputs[0]->shape();
  Tensor& y = args.outputs[0];
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (y.dtype() == DType::kInt64) {
      y.mutable_data<std::int64_t>()[i] = dims[i];
    } else {
      if (dims[i] > std::numeric_limits<std::int32_t>::max())
        fail("shape: {} does not fit into int32", dims[i]);
      y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(dims[i]);
    }
  }
}

void range(const KernelArgs& args) {
  with_number(args.outputs[0].dtype(), [&]<class T>() {
    T start = args.input("start")->data<T>()[0], step = args.input("step")->data<T>()[0];
    auto y = args.outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (std::is_integral_v<T>)  // in between, it may wrap around
        y[i] = static_cast<T>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step));
      else
        y[i] = start + static_cast<T>(i) * step;
    }
  });
}

void full(const KernelArgs& args) {
  Tensor& y = args.outputs[0];
  const Tensor* given = args.input("value");
  Tensor value = (given ? *given : Tensor::scalar(attr<double>(args.node, "value"))).cast(y.dtype());
  // The stride 0 repeats the one element.
  Tensor flat = y.reshaped({y.size()});
  gather(value.bytes().data(), {0}, flat, args.pool);
}

// N C H W to N H W C in memory, or back.
void reorder(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  bool plain = attr<std::string>(args.node, "to") == "plain";
  std::int64_t channels = x.dim(1), area = x.dim(2) * x.dim(3);
  std::int64_t rows = plain ? area : channels, columns = plain ? channels : area;  // of a matrix to transpose
  std::size_t size = size_of(x.dtype());
  const std::byte* from = x.bytes().data();
  std::byte* to = args.outputs[0].mutable_bytes().data();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t image = i / (rows * columns), row = i / columns % rows, column = i % columns;
    std::memcpy(to + static_cast<std::size_t>((image * columns + column) * rows + row) * size,
                from + static_cast<std::size_t>(i) * size, size);
  }
}

}  // namespace octet::ref
