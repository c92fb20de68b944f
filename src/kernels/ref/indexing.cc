#include <cstring>

#include "graph/ops/infer.h"
#include "kernels/blocks.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// The index of an element along a dimension of `size`; negative ones count from the end.
std::int64_t checked_index(std::int64_t index, std::int64_t size, const Node& node) {
  if (index < -size || index >= size)
    fail("{}: index {} is out of range for {} elements", node.op, index, size);
  return index < 0 ? index + size : index;
}

// Where the elements (or runs of them) that index tuples name begin in x: `indices` has tuples of `depth`
// numbers for dims [first, first + depth) of x.
std::vector<std::int64_t> tuple_offsets(const Tensor& x, const Tensor& indices, std::size_t first,
                                        const Node& node) {
  std::vector<std::int64_t> numbers = to_int64s(indices), offsets;
  auto depth = static_cast<std::size_t>(indices.dim(-1));
  Shape strides = strides_of(x.shape());
  for (std::size_t i = 0; i < numbers.size(); i += depth) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < depth; ++d)
      offset += checked_index(numbers[i + d], x.shape()[first + d], node) * strides[first + d];
    offsets.push_back(offset);
  }
  return offsets;
}

// How an update changes an element.
template <class T>
void update(T& element, T value, const std::string& reduction) {
  if constexpr (!std::is_same_v<T, bool>) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    if (reduction == "add")
      value = static_cast<T>(static_cast<Wide>(element) + static_cast<Wide>(value));
    else if (reduction == "mul")
      value = static_cast<T>(static_cast<Wide>(element) * static_cast<Wide>(value));
    else if (reduction == "max")
      value = element > value ? element : value;
    else if (reduction == "min")
      value = element < value ? element : value;
  }
  element = value;
}

void copy_all(const Tensor& from, Tensor& to) {
  if (to.size() > 0) std::memcpy(to.mutable_bytes().data(), from.bytes().data(), to.size_bytes());
}

// Offsets in x of the elements that scatter_elements and gather_elements name, in the order of `indices`:
// those of their own position, but for the axis.
std::vector<std::int64_t> element_offsets(const Tensor& x, const Tensor& indices, const Node& node) {
  auto axis =
      static_cast<std::size_t>(ops::normalize_axis(attr<std::int64_t>(node, "axis"), x.shape().size()));
  std::vector<std::int64_t> numbers = to_int64s(indices);
  Shape strides = strides_of(x.shape());
  std::int64_t step = strides[axis], size = x.shape()[axis];
  strides[axis] = 0;
  walk(indices.shape(), std::array<Shape, 1>{strides}, 0, indices.size(),
       [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
         std::int64_t& number = numbers[static_cast<std::size_t>(i)];
         number = at[0] + checked_index(number, size, node) * step;
       });
  return numbers;
}

}  // namespace

void gather(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  AxisView view =
      along(x.shape(), ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), x.shape().size()));
  std::vector<std::int64_t> indices = to_int64s(*args.input("indices"));
  for (std::int64_t& index : indices) index = checked_index(index, view.size, args.node);
  auto bytes = static_cast<std::size_t>(view.inner) * size_of(x.dtype());
  if (args.outputs[0].size() == 0) return;
  const std::byte* from = x.bytes().data();
  std::byte* to = args.outputs[0].mutable_bytes().data();
  auto count = static_cast<std::int64_t>(indices.size());
  for_blocks(
      args.pool, view.outer * count,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t row = i / count * view.size + indices[static_cast<std::size_t>(i % count)];
          std::memcpy(to + static_cast<std::size_t>(i) * bytes, from + static_cast<std::size_t>(row) * bytes,
                      bytes);
        }
      },
      std::max<std::int64_t>(1, (1 << 16) / static_cast<std::int64_t>(bytes)));
}

void gather_elements(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  std::vector<std::int64_t> offsets = element_offsets(x, *args.input("indices"), args.node);
  with_size(x.dtype(), [&]<class T>() {
    const T* from = elements<T>(x);
    T* to = mutable_elements<T>(args.outputs[0]);
    for (std::size_t i = 0; i < offsets.size(); ++i) to[i] = from[offsets[i]];
  });
}

void gather_nd(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &indices = *args.input("indices");
  auto batch = static_cast<std::size_t>(attr<std::int64_t>(args.node, "batch_dims"));
  std::vector<std::int64_t> offsets = tuple_offsets(x, indices, batch, args.node);
  std::int64_t batches = count_of(x.shape(), 0, batch);
  if (args.outputs[0].size() == 0) return;
  std::int64_t stride = count_of(x.shape(), batch, x.shape().size());
  auto per_batch = static_cast<std::int64_t>(offsets.size()) / batches;
  std::size_t run = args.outputs[0].size_bytes() / offsets.size();
  const std::byte* from = x.bytes().data();
  std::byte* to = args.outputs[0].mutable_bytes().data();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::int64_t offset = offsets[i] + static_cast<std::int64_t>(i) / per_batch * stride;
    std::memcpy(to + i * run, from + static_cast<std::size_t>(offset) * size_of(x.dtype()), run);
  }
}

void scatter_elements(const KernelArgs& args) {
  const Tensor& updates = *args.input("updates");
  Tensor& y = args.outputs[0];
  copy_all(*args.inputs[0], y);
  std::vector<std::int64_t> offsets = element_offsets(y, *args.input("indices"), args.node);
  std::string reduction = attr<std::string>(args.node, "reduction");
  with_type(y.dtype(), [&]<class T>() {
    T* to = y.mutable_data<T>().data();
    for (std::size_t i = 0; i < offsets.size(); ++i) update(to[offsets[i]], updates.data<T>()[i], reduction);
  });
}

void scatter_nd(const KernelArgs& args) {
  const Tensor& updates = *args.input("updates");
  Tensor& y = args.outputs[0];
  copy_all(*args.inputs[0], y);
  std::vector<std::int64_t> offsets = tuple_offsets(y, *args.input("indices"), 0, args.node);
  if (updates.size() == 0) return;
  std::size_t run = static_cast<std::size_t>(updates.size()) / offsets.size();
  std::string reduction = attr<std::string>(args.node, "reduction");
  with_type(y.dtype(), [&]<class T>() {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      T* to = y.mutable_data<T>().data() + offsets[i];
      for (std::size_t j = 0; j < run; ++j) update(to[j], updates.data<T>()[i * run + j], reduction);
    }
  });
}

void one_hot(const KernelArgs& args) {
  std::vector<std::int64_t> indices = to_int64s(*args.input("indices"));
  Tensor& y = args.outputs[0];
  AxisView view =
      along(y.shape(), ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), y.shape().size()));
  with_size(y.dtype(), [&]<class T>() {
    const T* values = elements<T>(*args.input("values"));
    T* to = mutable_elements<T>(y);
    std::fill_n(to, y.size(), values[0]);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::int64_t index = indices[i] < 0 ? indices[i] + view.size : indices[i];
      auto at = static_cast<std::int64_t>(i);
      if (index >= 0 && index < view.size)  // what is out of range has no place
        to[(at / view.inner * view.size + index) * view.inner + at % view.inner] = values[1];
    }
  });
}

}  // namespace octet::ref
