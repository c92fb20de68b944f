#include "train/convolution.h"

#include <algorithm>

#include "graph/ops/geometry.h"
#include "train/bfloat16.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// How the gradient of the weights is computed.
enum class WeightGradient { kTorch, kDepthwise, kByTaps };

std::int64_t output_size(std::int64_t input, std::int64_t kernel, const ConvGeometry& g, std::size_t dim) {
  return (input + 2 * g.padding[dim] - g.dilation[dim] * (kernel - 1) - 1) / g.stride[dim] + 1;
}

bool is_depthwise(const at::Tensor& x, const at::Tensor& weight, const ConvGeometry& geometry) {
  return geometry.groups > 1 && geometry.groups == x.size(1) && weight.size(0) == geometry.groups;
}

bool are_on_cpu(const at::Tensor& x, const at::Tensor& weight, at::ScalarType type) {
  return x.is_cpu() && x.scalar_type() == type && weight.scalar_type() == type;
}

WeightGradient weight_gradient_for(const at::Tensor& x, const at::Tensor& weight,
                                   const ConvGeometry& geometry) {
  const bool is_low = are_on_cpu(x, weight, at::kBFloat16);
  if (!is_low && !are_on_cpu(x, weight, at::kFloat)) return WeightGradient::kTorch;
  if (is_depthwise(x, weight, geometry)) return WeightGradient::kDepthwise;
  constexpr std::int64_t kFewPixels = 16, kManyChannels = 32;
  const std::int64_t pixels = output_size(x.size(2), weight.size(2), geometry, 0) *
                              output_size(x.size(3), weight.size(3), geometry, 1);
  const bool has_taps = weight.size(2) * weight.size(3) > 1;
  return geometry.groups == 1 && has_taps && pixels <= kFewPixels && x.size(1) >= kManyChannels
             ? WeightGradient::kByTaps
             : WeightGradient::kTorch;
}

// oneDNN computes the gradient of the input of a depthwise convolution with strides a hundred times slower in
// bfloat16 than in float.
bool has_own_input_gradient(const at::Tensor& x, const at::Tensor& weight, const ConvGeometry& geometry) {
  return are_on_cpu(x, weight, at::kBFloat16) && is_depthwise(x, weight, geometry) &&
         (geometry.stride[0] > 1 || geometry.stride[1] > 1);
}

// One tap of a depthwise kernel, for one row of outputs: sums[c] += gradient[i][c] * x[i * step][c].
__attribute__((target_clones("avx512f", "avx2", "default"))) void add_tap(const float* gradient,
                                                                          const float* x, float* sums,
                                                                          std::int64_t count,
                                                                          std::int64_t step,
                                                                          std::int64_t channels) {
  constexpr std::int64_t kBlock = 32;  // channels that are kept in registers
  for (std::int64_t c = 0; c < channels; c += kBlock) {
    const std::int64_t n = std::min(kBlock, channels - c);
    float block[kBlock] = {};
    if (n == kBlock) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float *g = gradient + i * channels + c, *v = x + i * step * channels + c;
        for (std::int64_t j = 0; j < kBlock; ++j) block[j] += g[j] * v[j];
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        const float *g = gradient + i * channels + c, *v = x + i * step * channels + c;
        for (std::int64_t j = 0; j < n; ++j) block[j] += g[j] * v[j];
      }
    }
    for (std::int64_t j = 0; j < n; ++j) sums[c + j] += block[j];
  }
}

// The same of bfloat16. What is left of the channels behind whole vectors is the end of one more, of which
// the rest is computed again.
__attribute__((target_clones("avx512f", "avx2", "default"))) void add_tap(const BFloat16* gradient,
                                                                          const BFloat16* x, float* sums,
                                                                          std::int64_t count,
                                                                          std::int64_t step,
                                                                          std::int64_t channels) {
  if (channels < kLanes) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t c = 0; c < channels; ++c)
        sums[c] += widened(gradient[i * channels + c]) * widened(x[i * step * channels + c]);
    return;
  }
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const std::int64_t first = std::min(c, channels - kLanes);
    Floats sum{};
    for (std::int64_t i = 0; i < count; ++i) {
      Floats g, v;
      load(gradient + i * channels + first, g);
      load(x + i * step * channels + first, v);
      sum += g * v;
    }
    for (std::int64_t j = c - first; j < kLanes; ++j) sums[first + j] += sum[j];
  }
}

// Outputs i in [first, last) whose input i * stride - padding + offset lies in [0, size).
std::pair<std::int64_t, std::int64_t> inside(std::int64_t outputs, std::int64_t size, std::int64_t stride,
                                             std::int64_t shift) {
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t last = size - 1 - shift < 0 ? 0 : std::min(outputs, (size - 1 - shift) / stride + 1);
  return {first, std::max(first, last)};
}

// The gradient of depthwise weights. Each thread sums up its pictures; the sums are added in the order of
// threads.
template <class T>
at::Tensor depthwise_weight_gradient(const at::Tensor& gradient, const at::Tensor& x,
                                     const at::Tensor& weight, const ConvGeometry& geometry) {
  const at::Tensor g = gradient.contiguous(at::MemoryFormat::ChannelsLast),
                   input = x.contiguous(at::MemoryFormat::ChannelsLast);
  const std::int64_t pictures = x.size(0), channels = x.size(1), in_h = x.size(2), in_w = x.size(3),
                     out_h = g.size(2), out_w = g.size(3), kernel_h = weight.size(2),
                     kernel_w = weight.size(3), taps = kernel_h * kernel_w;
  const std::int64_t parts = std::min<std::int64_t>(at::get_num_threads(), pictures);
  at::Tensor sums = at::zeros({std::max<std::int64_t>(parts, 1), taps, channels}, at::kFloat);
  const T *from_g = g.const_data_ptr<T>(), *from_x = input.const_data_ptr<T>();
  float* to = sums.data_ptr<float>();
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      for (std::int64_t n = part * pictures / parts; n < (part + 1) * pictures / parts; ++n)
        for (std::int64_t oy = 0; oy < out_h; ++oy)
          for (std::int64_t ky = 0; ky < kernel_h; ++ky) {
            const std::int64_t iy = oy * geometry.stride[0] - geometry.padding[0] + ky * geometry.dilation[0];
            if (iy < 0 || iy >= in_h) continue;
            for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
              const std::int64_t shift = kx * geometry.dilation[1] - geometry.padding[1];
              const auto [first, last] = inside(out_w, in_w, geometry.stride[1], shift);
              if (first == last) continue;
              add_tap(from_g + ((n * out_h + oy) * out_w + first) * channels,
                      from_x + ((n * in_h + iy) * in_w + first * geometry.stride[1] + shift) * channels,
                      to + (part * taps + ky * kernel_w + kx) * channels, last - first, geometry.stride[1],
                      channels);
            }
          }
  });
  at::Tensor result = at::empty_like(weight);
  result.copy_(sums.sum(0).t().reshape({channels, 1, kernel_h, kernel_w}));
  return result;
}

// What a tap of a depthwise kernel gives a pixel of the input: gradients of an output times weights.
struct Tap {
  const BFloat16* gradient;
  const float* weight;
};

__attribute__((target_clones("avx512f", "avx2", "default"))) void sum_taps(const Tap* taps,
                                                                           std::int64_t count, BFloat16* out,
                                                                           std::int64_t channels) {
  if (channels < kLanes) {
    for (std::int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += widened(taps[i].gradient[c]) * taps[i].weight[c];
      out[c] = narrowed<BFloat16>(sum);
    }
    return;
  }
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const std::int64_t first = std::min(c, channels - kLanes);
    Floats sum{};
    for (std::int64_t i = 0; i < count; ++i) {
      Floats g, w;
      load(taps[i].gradient + first, g);
      load(taps[i].weight + first, w);
      sum += g * w;
    }
    store(sum, out + first);
  }
}

at::Tensor depthwise_input_gradient(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                    const ConvGeometry& geometry) {
  const at::Tensor g = gradient.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor result = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::ChannelsLast));
  const std::int64_t channels = x.size(1), in_h = x.size(2), in_w = x.size(3), out_h = g.size(2),
                     out_w = g.size(3), kernel_h = weight.size(2), kernel_w = weight.size(3);
  const at::Tensor weights = weight.to(at::kFloat).reshape({channels, kernel_h * kernel_w}).t().contiguous();
  const auto* from = g.const_data_ptr<BFloat16>();
  const float* w = weights.const_data_ptr<float>();
  auto* to = result.data_ptr<BFloat16>();
  // Which output an input is in by way of a tap: -1, none.
  const auto output_of = [&](std::int64_t in, std::int64_t tap, std::size_t dim, std::int64_t outputs) {
    const std::int64_t at = in + geometry.padding[dim] - tap * geometry.dilation[dim];
    return at >= 0 && at % geometry.stride[dim] == 0 && at / geometry.stride[dim] < outputs
               ? at / geometry.stride[dim]
               : -1;
  };
  at::parallel_for(0, x.size(0) * in_h, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Tap> taps;
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t ix = 0; ix < in_w; ++ix) {
        taps.clear();
        for (std::int64_t ky = 0; ky < kernel_h; ++ky) {
          const std::int64_t oy = output_of(row % in_h, ky, 0, out_h);
          if (oy < 0) continue;
          for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
            const std::int64_t ox = output_of(ix, kx, 1, out_w);
            if (ox < 0) continue;
            taps.push_back({from + ((row / in_h * out_h + oy) * out_w + ox) * channels,
                            w + (ky * kernel_w + kx) * channels});
          }
        }
        sum_taps(taps.data(), std::ssize(taps), to + (row * in_w + ix) * channels, channels);
      }
  });
  return result;
}

// A product of matrices for each tap of the kernel, over the pixels where it sees the picture and not the
// padding: of small pictures these are few, of a single pixel it is one tap of all.
at::Tensor weight_gradient_by_taps(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                   const ConvGeometry& geometry) {
  const auto as_matrix = [](const at::Tensor& pictures) {  // a row for each pixel, a column for each channel
    return pictures.permute({0, 2, 3, 1}).reshape({-1, pictures.size(1)});
  };
  const auto part = [&](const at::Tensor& pictures, std::int64_t dim, std::int64_t first, std::int64_t count,
                        std::int64_t step) {
    return pictures.slice(dim, first, first + (count - 1) * step + 1, step);
  };
  at::Tensor result = at::zeros_like(weight);
  for (std::int64_t ky = 0; ky < weight.size(2); ++ky) {
    const std::int64_t shift_y = ky * geometry.dilation[0] - geometry.padding[0], step_y = geometry.stride[0];
    const auto [top, bottom] = inside(gradient.size(2), x.size(2), step_y, shift_y);
    for (std::int64_t kx = 0; kx < weight.size(3); ++kx) {
      const std::int64_t shift_x = kx * geometry.dilation[1] - geometry.padding[1],
                         step_x = geometry.stride[1];
      const auto [left, right] = inside(gradient.size(3), x.size(3), step_x, shift_x);
      if (top == bottom || left == right) continue;
      const at::Tensor from = part(part(gradient, 2, top, bottom - top, 1), 3, left, right - left, 1);
      const at::Tensor seen = part(part(x, 2, top * step_y + shift_y, bottom - top, step_y), 3,
                                   left * step_x + shift_x, right - left, step_x);
      result.select(3, kx).select(2, ky).copy_(at::mm(as_matrix(from).t(), as_matrix(seen)));
    }
  }
  return result;
}

struct OwnConvolution : torch::autograd::Function<OwnConvolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const std::vector<std::int64_t>& numbers) {
    context->save_for_backward({x, weight});
    context->saved_data["numbers"] = numbers;
    context->saved_data["has_bias"] = bias.has_value();
    return at::conv2d(x, weight, bias, {numbers[0], numbers[1]}, {numbers[2], numbers[3]},
                      {numbers[4], numbers[5]}, numbers[6]);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> n = context->saved_data["numbers"].toIntVector();
    ConvGradients g =
        convolution_backward(gradients[0], saved[0], saved[1], context->saved_data["has_bias"].toBool(),
                             {{n[0], n[1]}, {n[2], n[3]}, {n[4], n[5]}, n[6]}, context->needs_input_grad(0));
    return {g.x, g.weight, g.bias, {}};
  }
};

}  // namespace

ConvGeometry conv_geometry(const Node& node, at::Tensor& x, const at::Tensor& weight) {
  const auto [y, w] = ops::conv_window(node, x.size(2), x.size(3), weight.size(2), weight.size(3));
  ConvGeometry geometry{.stride = {y.stride, w.stride},
                        .padding = {y.before, w.before},
                        .dilation = {y.dilation, w.dilation},
                        .groups = attr<std::int64_t>(node, "groups")};
  if (y.before != y.after || w.before != w.after) {
    x = at::constant_pad_nd(x, {w.before, w.after, y.before, y.after});
    geometry.padding = {0, 0};
  }
  return geometry;
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       const ConvGeometry& geometry) {
  const auto& [stride, padding, dilation, groups] = geometry;
  if (at::GradMode::is_enabled() && (weight_gradient_for(x, weight, geometry) != WeightGradient::kTorch ||
                                     has_own_input_gradient(x, weight, geometry)))
    return OwnConvolution::apply(x, weight, bias,
                                 std::vector<std::int64_t>{stride[0], stride[1], padding[0], padding[1],
                                                           dilation[0], dilation[1], groups});
  return at::conv2d(x, weight, bias, stride, padding, dilation, groups);
}

ConvGradients convolution_backward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                   bool has_bias, const ConvGeometry& geometry, bool needs_x) {
  const WeightGradient how = weight_gradient_for(x, weight, geometry);
  const bool needs_torch_x = needs_x && !has_own_input_gradient(x, weight, geometry),
             needs_torch_weight = how == WeightGradient::kTorch,
             needs_torch_bias =
                 has_bias && needs_torch_weight;  // it comes with the weights, or costs as much
  const auto& [stride, padding, dilation, groups] = geometry;
  at::Tensor gx, gw, gb;
  if (needs_torch_x || needs_torch_weight)
    std::tie(gx, gw, gb) = at::convolution_backward(
        gradient, x, weight,
        needs_torch_bias ? at::OptionalIntArrayRef(weight.size(0)) : at::OptionalIntArrayRef(), stride,
        padding, dilation, false, {0, 0}, groups, {needs_torch_x, needs_torch_weight, needs_torch_bias});
  const bool is_low = x.scalar_type() == at::kBFloat16;
  if (needs_x && !needs_torch_x) gx = depthwise_input_gradient(gradient, x, weight, geometry);
  if (how == WeightGradient::kDepthwise)
    gw = is_low ? depthwise_weight_gradient<BFloat16>(gradient, x, weight, geometry)
                : depthwise_weight_gradient<float>(gradient, x, weight, geometry);
  if (how == WeightGradient::kByTaps) gw = weight_gradient_by_taps(gradient, x, weight, geometry);
  if (has_bias && !needs_torch_bias) gb = gradient.sum({0, 2, 3});
  return {gx, gw, gb};
}

}  // namespace octet::train
