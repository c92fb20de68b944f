#include <array>
#include <cmath>

#include "graph/ops/infer.h"
#include "graph/ops/resolve.h"
#include "kernels/fast/layout.h"
#include "kernels/ref/strides.h"

// Normalisation and reductions.
namespace octet::fast {
namespace {

std::int64_t at_least_one(std::int64_t count) {
  return std::max<std::int64_t>(1, count);
}

struct BatchNormNode : Prepared {
  std::vector<float> a, b;  // one per channel; empty when a run decides them
};

// Of scale, bias, mean and variance.
void batch_norm_factors(const Node& node, const std::array<Tensor, 4>& inputs, BatchNormNode& factors) {
  float epsilon = attr<float>(node, "epsilon");
  auto scale = inputs[0].data<float>(), bias = inputs[1].data<float>(), mean = inputs[2].data<float>(),
       variance = inputs[3].data<float>();
  for (std::size_t c = 0; c < scale.size(); ++c) {
    factors.a.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    factors.b.push_back(bias[c] - mean[c] * factors.a[c]);
  }
}

std::shared_ptr<const Prepared> prepare_batch_norm(const PrepareArgs& args) {
  auto node = std::make_shared<BatchNormNode>();
  std::array<Tensor, 4> inputs = {args.constant("scale").aligned(), args.constant("bias").aligned(),
                                  args.constant("mean").aligned(), args.constant("variance").aligned()};
  bool constant = std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.empty(); });
  if (constant) batch_norm_factors(args.node, inputs, *node);
  return node;
}

void batch_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  const auto* node = static_cast<const BatchNormNode*>(args.prepared);
  BatchNormNode measured;
  if (node->a.empty()) {
    batch_norm_factors(
        args.node, {*args.input("scale"), *args.input("bias"), *args.input("mean"), *args.input("variance")},
        measured);
    node = &measured;
  }
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  MemoryDims memory(x.shape(), is_channels_last(args, x));
  ref::AxisView view = ref::along(memory.dims, memory.axis(1));
  auto run = [&](std::int64_t row, std::int64_t count, std::int64_t columns, std::int64_t channel) {
    args.simd->binary.scale_rows(in + row * columns, node->a.data() + channel, node->b.data() + channel,
                                 view.inner == 1, out + row * columns, count, columns);
  };
  if (view.inner == 1) {
    for_blocks(
        args.pool, view.outer,
        [&](std::int64_t begin, std::int64_t end) { run(begin, end - begin, view.size, 0); },
        at_least_one((1 << 14) / view.size));
  } else {
    for_blocks(
        args.pool, view.outer * view.size,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) run(row, 1, view.inner, row % view.size);
        },
        at_least_one((1 << 14) / view.inner));
  }
}

void layer_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  auto begin_axis = static_cast<std::size_t>(
      ops::normalize_axis(attr<std::int64_t>(args.node, "begin_norm_axis"), x.shape().size()));
  std::int64_t rows = ref::count_of(x.shape(), 0, begin_axis);
  std::int64_t size = ref::count_of(x.shape(), begin_axis, x.shape().size());
  const float* scale = args.input("scale") ? args.input("scale")->data<float>().data() : nullptr;
  const float* bias = args.input("bias") ? args.input("bias")->data<float>().data() : nullptr;
  float epsilon = attr<float>(args.node, "epsilon");
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  auto run = [&](std::int64_t begin, std::int64_t end) {
    args.simd->reduction.layer_norm_rows(in + begin * size, out + begin * size, end - begin, size, scale,
                                         bias, epsilon);
  };
  for_blocks(args.pool, rows, run, std::max<std::int64_t>(4, (1 << 13) / size));
}

void softmax(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  ref::AxisView view{1, 1, 1};
  if (x.rank() > 0) {
    std::int64_t axis = ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), x.shape().size());
    MemoryDims memory(x.shape(), is_channels_last(args, x));
    view = ref::along(memory.dims, memory.axis(axis));
  }
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  if (view.inner == 1) {
    auto run = [&](std::int64_t begin, std::int64_t end) {
      args.simd->reduction.softmax_rows(in + begin * view.size, out + begin * view.size, end - begin,
                                        view.size);
    };
    for_blocks(args.pool, view.outer, run, std::max<std::int64_t>(4, (1 << 12) / view.size));
    return;
  }
  constexpr std::int64_t kPiece = 64;  // columns
  std::int64_t pieces = (view.inner + kPiece - 1) / kPiece;
  auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t column = task % pieces * kPiece;
      std::int64_t first = task / pieces * view.size * view.inner + column;
      args.simd->reduction.softmax_columns(in + first, out + first, view.size, view.inner,
                                           std::min(kPiece, view.inner - column));
    }
  };
  for_blocks(args.pool, view.outer * pieces, run, at_least_one((1 << 12) / (view.size * kPiece)));
}

// Dims with their strides, in an order, and joined where they are one run of memory.
struct Dims {
  Shape sizes, strides;

  void add(std::int64_t size, std::int64_t stride) {
    if (size == 1) return;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  void finish() {
    if (sizes.empty()) sizes = {1}, strides = {1};
  }
};

// A reduction: the dims that stay, in the order of the result's memory, and those that go, in the order that
// sums run in, which is that of a plain tensor's memory.
struct Reduction {
  Dims kept, gone;
  std::vector<std::int64_t> offsets;
  simd::ReductionTerms terms;

  Reduction(const KernelArgs& args, const std::vector<bool>& mask) {
    const Shape& x = args.inputs[0]->shape();
    Shape strides = memory_strides(x, is_channels_last(args, *args.inputs[0]));
    MemoryDims out(x, is_channels_last(args, args.outputs[0]));
    for (std::size_t i : out.order)
      if (!mask[i]) kept.add(x[i], strides[i]);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (mask[i]) gone.add(x[i], strides[i]);
    kept.finish();
    gone.finish();
    std::size_t last = gone.sizes.size() - 1;
    std::int64_t rows = ref::count_of(gone.sizes, 0, last);
    for (std::int64_t r = 0; r < rows; ++r)
      offsets.push_back(ref::offset_of(r, gone.sizes, gone.strides, last));
    terms = {offsets.data(), rows, gone.sizes[last], gone.strides[last]};
  }

  // Calls work(where the first of them begins in x, spacing, index of the first, count) for runs of outputs.
  template <class Work>
  void for_outputs(const KernelArgs& args, const Work& work) const {
    std::size_t last = kept.sizes.size() - 1;
    std::int64_t row = kept.sizes[last], rows = ref::count_of(kept.sizes, 0, last);
    std::int64_t per_output = at_least_one(terms.rows * terms.count);
    if (row == 0 || rows == 0) return;
    // A multiple of 16, as vectors are.
    std::int64_t piece = (at_least_one((1 << 13) / per_output) + 15) / 16 * 16;
    std::int64_t pieces = (row + piece - 1) / piece;
    auto run = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        std::int64_t first = task % pieces * piece, index = task / pieces;
        work(ref::offset_of(index, kept.sizes, kept.strides, last) + first * kept.strides[last],
             kept.strides[last], index * row + first, std::min(piece, row - first));
      }
    };
    for_blocks(args.pool, rows * pieces, run, at_least_one((1 << 13) / (std::min(piece, row) * per_output)));
  }
};

void reduce_sums(const KernelArgs& args, double divisor) {
  Reduction reduction(args, ops::reduced_dims(args.node, args.inputs[0]->shape().size(), args.input("axes")));
  const float* in = args.inputs[0]->data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  reduction.for_outputs(
      args, [&](std::int64_t from, std::int64_t spacing, std::int64_t index, std::int64_t count) {
        args.simd->reduction.sum(in + from, reduction.terms, spacing, divisor, out + index, count);
      });
}

void reduce_mean(const KernelArgs& args) {
  std::int64_t count = args.inputs[0]->size() / at_least_one(args.outputs[0].size());
  reduce_sums(args, static_cast<double>(count));
}

void reduce_sum(const KernelArgs& args) {
  reduce_sums(args, 1.0);
}

void reduce_max(const KernelArgs& args) {
  Reduction reduction(args, ops::reduced_dims(args.node, args.inputs[0]->shape().size(), args.input("axes")));
  const float* in = args.inputs[0]->data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  reduction.for_outputs(
      args, [&](std::int64_t from, std::int64_t spacing, std::int64_t index, std::int64_t count) {
        args.simd->reduction.maximum(in + from, reduction.terms, spacing, out + index, count);
      });
}

void arg_max(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  std::vector<bool> mask(x.shape().size());
  if (x.rank() > 0) {
    std::int64_t axis =
        args.input("axis") ? to_int64s(*args.input("axis"))[0] : attr<std::int64_t>(args.node, "axis");
    mask[static_cast<std::size_t>(ops::normalize_axis(axis, x.shape().size()))] = true;
  }
  Reduction reduction(args, mask);
  const float* in = x.data<float>().data();
  Tensor& y = args.outputs[0];
  bool narrow = y.dtype() == DType::kInt32;
  std::int32_t* out32 = narrow ? y.mutable_data<std::int32_t>().data() : nullptr;
  std::int64_t* out64 = narrow ? nullptr : y.mutable_data<std::int64_t>().data();
  reduction.for_outputs(
      args, [&](std::int64_t from, std::int64_t spacing, std::int64_t index, std::int64_t count) {
        constexpr std::int64_t kSome = 256;
        std::int32_t numbers[kSome];
        for (std::int64_t i = 0; i < count; i += kSome) {
          std::int64_t some = std::min(kSome, count - i);
          args.simd->reduction.arg_max(in + from + i * spacing, reduction.terms.count, reduction.terms.step,
                                       spacing, narrow ? out32 + index + i : numbers, some);
          if (!narrow) std::copy_n(numbers, some, out64 + index + i);
        }
      });
}

bool is_float(const PrepareArgs& args) {
  return args.value("x")->dtype == DType::kFloat32;
}

// Rows around their mean, of which only the result is asked for.
bool is_plain_norm(const PrepareArgs& args) {
  return attr<bool>(args.node, "centered") && args.node.outputs.size() == 1;
}

bool has_axis(const PrepareArgs& args) {
  return is_float(args) && !attr<bool>(args.node, "flatten") && !attr<bool>(args.node, "last");
}

}  // namespace

std::vector<Implementation> reduction() {
  auto row = [](std::string_view op, LayoutNeed layout, Kernel kernel,
                bool (*fits)(const PrepareArgs&) = nullptr) {
    return Implementation{.op = op, .name = "vector", .layout = layout, .run = kernel, .fits = fits};
  };
  std::vector<Implementation> rows = {
      row("batch_norm", LayoutNeed::kSame, batch_norm),
      row("layer_norm", LayoutNeed::kPlain, layer_norm,
          is_plain_norm),  // its rows are those of a plain tensor
      row("softmax", LayoutNeed::kSame, softmax),
  };
  rows[0].prepare = prepare_batch_norm;
  for (Implementation& in_place : rows) in_place.in_place = 0;
  rows.push_back(row("reduce_mean", LayoutNeed::kSame, reduce_mean, is_float));
  rows.push_back(row("reduce_sum", LayoutNeed::kSame, reduce_sum, is_float));
  rows.push_back(row("reduce_max", LayoutNeed::kSame, reduce_max, is_float));
  rows.push_back(row("arg_max", LayoutNeed::kSame, arg_max, has_axis));
  return rows;
}

}  // namespace octet::fast
