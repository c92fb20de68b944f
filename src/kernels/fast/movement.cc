#include <cstring>

#include "graph/ops/resolve.h"
#include "kernels/fast/layout.h"
#include "kernels/ref/infos.h"
#include "kernels/ref/strides.h"

// Ops that move elements without looking at them, of any dtype.
namespace octet::fast {
namespace {

std::int64_t element_bytes(const Tensor& tensor) {
  return static_cast<std::int64_t>(size_of(tensor.dtype()));
}

constexpr std::int64_t kBlockBytes = 1 << 17;  // of a task

std::int64_t at_least_one(std::int64_t count) {
  return std::max<std::int64_t>(1, count);
}

// A dense tensor with `dims`, filled from elements that lie `strides` apart.
struct Gather {
  const std::byte* from;
  std::byte* to;
  std::int64_t element;  // bytes
  Shape dims, strides;

  // Without dims of 1, and with those joined that are one run of memory on both sides.
  void join() {
    Shape all_dims = std::move(dims), all_strides = std::move(strides);
    dims.clear();
    strides.clear();
    for (std::size_t i = 0; i < all_dims.size(); ++i) {
      if (all_dims[i] == 1) continue;
      if (!dims.empty() && strides.back() == all_strides[i] * all_dims[i]) {
        dims.back() *= all_dims[i];
        strides.back() = all_strides[i];
      } else {
        dims.push_back(all_dims[i]);
        strides.push_back(all_strides[i]);
      }
    }
    if (dims.empty()) dims = {1}, strides = {1};
  }

  void run(const KernelArgs& args) {
    if (ref::count_of(dims, 0, dims.size()) == 0) return;
    join();
    std::size_t last = dims.size() - 1;
    if (strides[last] == 1) return copy_runs(args);
    auto unit = std::find(strides.begin(), strides.end(), 1);
    unit != strides.end() ? transpose(args, static_cast<std::size_t>(unit - strides.begin()))
                          : copy_each(args);
  }

 private:
  void copy_runs(const KernelArgs& args) {
    std::size_t last = dims.size() - 1;
    std::int64_t bytes = dims[last] * element;
    if (last == 0) {
      for_blocks(
          args.pool, bytes,
          [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
          },
          2 * kBlockBytes);
      return;
    }
    std::int64_t group = dims[last - 1], rows = ref::count_of(dims, 0, last);
    auto copy_rows = [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        std::int64_t count = std::min(group - begin % group, end - begin);
        args.simd->movement.copy_rows(from + ref::offset_of(begin, dims, strides, last) * element,
                                      strides[last - 1] * element, to + begin * bytes, bytes, bytes, count);
        begin += count;
      }
    };
    for_blocks(args.pool, rows, copy_rows, at_least_one(kBlockBytes / bytes));
  }

  // Dim `unit` is the one that is dense in `from`, the last one is dense in `to`.
  void transpose(const KernelArgs& args, std::size_t unit) {
    Shape outer, from_strides, to_strides;
    std::size_t last = dims.size() - 1;
    Shape dense = ref::strides_of(dims);
    for (std::size_t i = 0; i < last; ++i) {
      if (i == unit) continue;
      outer.push_back(dims[i]);
      from_strides.push_back(strides[i]);
      to_strides.push_back(dense[i]);
    }
    std::int64_t rows = dims[last], columns = dims[unit];
    // Whole cache lines of both.
    std::int64_t piece = std::max<std::int64_t>(64, kBlockBytes / 4 / (rows * element) / 64 * 64);
    std::int64_t pieces = (columns + piece - 1) / piece;
    std::int64_t count = ref::count_of(outer, 0, outer.size()) * pieces;
    auto run_tasks = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        std::int64_t column = task % pieces * piece;
        std::int64_t a = ref::offset_of(task / pieces, outer, from_strides, outer.size()) + column;
        std::int64_t b =
            ref::offset_of(task / pieces, outer, to_strides, outer.size()) + column * dense[unit];
        args.simd->movement.transpose(static_cast<std::size_t>(element), from + a * element, strides[last],
                                      to + b * element, dense[unit], rows, std::min(piece, columns - column));
      }
    };
    std::int64_t task_bytes = rows * std::min(piece, columns) * element;
    for_blocks(args.pool, count, run_tasks, at_least_one(kBlockBytes / 2 / task_bytes));
  }

  void copy_each(const KernelArgs& args) {
    std::int64_t size = ref::count_of(dims, 0, dims.size());
    for_blocks(args.pool, size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(to + i * element, from + ref::offset_of(i, dims, strides, dims.size()) * element,
                    static_cast<std::size_t>(element));
    });
  }
};

void reorder(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  bool from_plain = attr<std::string>(args.node, "to") != "plain";
  MemoryDims out(x.shape(), from_plain);
  Shape strides;
  Shape own = memory_strides(x.shape(), !from_plain);
  for (std::size_t i : out.order) strides.push_back(own[i]);
  Gather{x.bytes().data(), args.outputs[0].mutable_bytes().data(), element_bytes(x), out.dims, strides}.run(
      args);
}

void transpose(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  Shape own = ref::strides_of(x.shape()), strides;
  for (std::size_t i : ops::permutation(args.node, x.shape().size())) strides.push_back(own[i]);
  Gather{x.bytes().data(), args.outputs[0].mutable_bytes().data(), element_bytes(x), args.outputs[0].shape(),
         strides}
      .run(args);
}

void slice(const KernelArgs& args) {
  ref::InputInfos inputs(args);
  const Tensor& x = *args.inputs[0];
  Tensor& y = args.outputs[0];
  Shape own = memory_strides(x.shape(), is_channels_last(args, x)), kept;
  std::int64_t begin = 0;
  std::vector<ops::SliceDim> dims = ops::slice_dims(args.node, inputs.get());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    begin += dims[i].begin * own[i];
    if (!dims[i].dropped) kept.push_back(own[i] * dims[i].step);
  }
  if (y.size() == 0) return;
  MemoryDims out(y.shape(), is_channels_last(args, y));
  Shape strides;
  for (std::size_t i : out.order) strides.push_back(kept[i]);
  Gather{x.bytes().data() + begin * element_bytes(x), y.mutable_bytes().data(), element_bytes(x), out.dims,
         strides}
      .run(args);
}

// Of concat and split, seen along the axis in the order of memory. The axis is an attribute, or an input
// overrides it.
ref::AxisView view(const KernelArgs& args, const Tensor& tensor) {
  const Tensor* given = args.input("axis");
  std::int64_t axis = given ? to_int64s(*given)[0] : attr<std::int64_t>(args.node, "axis");
  MemoryDims memory(tensor.shape(), is_channels_last(args, tensor));
  return ref::along(memory.dims, memory.axis(ops::normalize_axis(axis, tensor.shape().size())));
}

struct Part {
  std::byte* data;
  std::int64_t bytes;  // of a run
};

// Runs of the parts, one after the other, are a run of the whole. copy(part, run, where it is in the whole,
// count) copies `count` runs of one part.
template <class Copy>
void for_parts(const KernelArgs& args, std::int64_t runs, std::int64_t run_bytes,
               const std::vector<Part>& parts, const Copy& copy) {
  auto copy_runs = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t done = 0;
    for (const Part& part : parts) {
      if (part.bytes > 0) copy(part, begin, begin * run_bytes + done, end - begin);
      done += part.bytes;
    }
  };
  for_blocks(args.pool, runs, copy_runs, at_least_one(kBlockBytes / at_least_one(run_bytes)));
}

void concat(const KernelArgs& args) {
  Tensor& y = args.outputs[0];
  ref::AxisView whole = view(args, y);
  std::vector<Part> parts;
  for (const Tensor* x : args.inputs.subspan(1)) {
    ref::AxisView part = view(args, *x);
    parts.push_back({const_cast<std::byte*>(x->bytes().data()), part.size * part.inner * element_bytes(y)});
  }
  std::int64_t run = whole.size * whole.inner * element_bytes(y);
  std::byte* to = y.mutable_bytes().data();
  for_parts(args, whole.outer, run, parts,
            [&](const Part& part, std::int64_t first, std::int64_t offset, std::int64_t count) {
              args.simd->movement.copy_rows(part.data + first * part.bytes, part.bytes, to + offset, run,
                                            part.bytes, count);
            });
}

void split(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  ref::AxisView whole = view(args, x);
  std::vector<Part> parts;
  for (Tensor& y : args.outputs) {
    ref::AxisView part = view(args, y);
    parts.push_back({y.mutable_bytes().data(), part.size * part.inner * element_bytes(y)});
  }
  std::int64_t run = whole.size * whole.inner * element_bytes(x);
  const std::byte* from = x.bytes().data();
  for_parts(args, whole.outer, run, parts,
            [&](const Part& part, std::int64_t first, std::int64_t offset, std::int64_t count) {
              args.simd->movement.copy_rows(from + offset, run, part.data + first * part.bytes, part.bytes,
                                            part.bytes, count);
            });
}

}  // namespace

std::vector<Implementation> movement() {
  auto row = [](std::string_view op, LayoutNeed layout, Kernel kernel) {
    return Implementation{.op = op, .name = "vector", .layout = layout, .run = kernel};
  };
  return {row("reorder", LayoutNeed::kPlain, reorder),  // whoever inserts it sets the layouts himself
          row("transpose", LayoutNeed::kPlain, transpose), row("concat", LayoutNeed::kSame, concat),
          row("split", LayoutNeed::kSame, split), row("slice", LayoutNeed::kSame, slice)};
}

}  // namespace octet::fast
