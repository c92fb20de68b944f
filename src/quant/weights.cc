#include "quant/weights.h"

#include <algorithm>
#include <cmath>

#include "quant/thresholds/thresholds.h"

namespace octet::quant {

QuantizedWeight quantize_weight(const Tensor& weight, std::int64_t axis, int bits) {
  const Tensor aligned = weight.aligned();
  auto from = aligned.data<float>();
  const std::int64_t channels = axis < 0 ? 1 : weight.dim(static_cast<int>(axis));
  std::vector<float> abs_max(static_cast<std::size_t>(channels), static_cast<float>(kMinThreshold));
  for_channels(weight.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (std::isfinite(from[i])) abs_max[c] = std::max(abs_max[c], std::fabs(from[i]));
  });
  return quantize_weight(aligned, Quantization::of_abs_max(abs_max, bits, axis));
}

QuantizedWeight quantize_weight(const Tensor& weight, Quantization quantization) {
  const Tensor aligned = weight.aligned();
  auto from = aligned.data<float>();
  QuantizedWeight result{Tensor(DType::kInt8, weight.shape()), std::move(quantization)};
  const Quantization& how = result.quantization;
  auto to = result.integers.mutable_data<std::int8_t>();
  const auto levels = static_cast<float>(how.qmax());
  for_channels(weight.shape(), how.axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    const float abs_max = how.abs_max(c);
    for (std::size_t i = begin; i < end; ++i) {
      float q = std::isnan(from[i]) ? 0.0f : std::nearbyint(from[i] / abs_max * levels);
      to[i] = static_cast<std::int8_t>(std::clamp(q, -levels, levels));
    }
  });
  return result;
}

Tensor dequantize_weight(const QuantizedWeight& weight) {
  Tensor result(DType::kFloat32, weight.integers.shape());
  auto from = weight.integers.data<std::int8_t>();
  const Quantization& how = weight.quantization;
  auto to = result.mutable_data<float>();
  const auto levels = static_cast<float>(how.qmax());
  for_channels(result.shape(), how.axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    const float abs_max = how.abs_max(c);
    for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<float>(from[i]) * abs_max / levels;
  });
  return result;
}

void correct_weight_statistics(const Tensor& weight, QuantizedWeight* quantized) {
  Tensor aligned = weight.aligned(), rounded = dequantize_weight(*quantized);
  auto from = aligned.data<float>(), back = rounded.data<float>();
  struct Sums {
    double w = 0, ww = 0, q = 0, qq = 0, count = 0;
  };
  const Quantization& how = quantized->quantization;
  std::vector<Sums> sums(how.steps.size());
  for_channels(weight.shape(), how.axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double w = from[i], q = back[i];
      sums[c].w += w, sums[c].ww += w * w, sums[c].q += q, sums[c].qq += q * q, sums[c].count += 1;
    }
  });
  auto deviation = [](double sum, double squares, double count) {
    return std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
  };
  auto to = quantized->integers.mutable_data<std::int8_t>();
  const double levels = how.qmax();
  for_channels(weight.shape(), how.axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    const Sums& s = sums[c];
    double shift = (s.w - s.q) / s.count;
    double ratio = deviation(s.w, s.ww, s.count) / (deviation(s.q, s.qq, s.count) + 1e-8);
    for (std::size_t i = begin; i < end; ++i) {
      double corrected = (static_cast<double>(back[i]) + shift) * ratio;
      double q = std::nearbyint(corrected / static_cast<double>(how.abs_max(c)) * levels);
      to[i] = static_cast<std::int8_t>(std::clamp(q, -levels, levels));
    }
  });
}

}  // namespace octet::quant
