#include "quant/weights.h"

#include <algorithm>
#include <cmath>

#include "quant/thresholds/thresholds.h"

namespace octet::quant {

QuantizedWeight quantize_weight(const Tensor& weight, std::int64_t axis, int bits) {
  const Tensor aligned = weight.aligned();
  auto from = aligned.data<float>();
  Tensor abs_max(DType::kFloat32, {axis < 0 ? 1 : weight.dim(static_cast<int>(axis))});
  auto scales = abs_max.mutable_data<float>();
  std::fill(scales.begin(), scales.end(), static_cast<float>(kMinThreshold));
  for_channels(weight.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (std::isfinite(from[i])) scales[c] = std::max(scales[c], std::fabs(from[i]));
  });
  return quantize_weight(aligned, axis, bits, std::move(abs_max));
}

QuantizedWeight quantize_weight(const Tensor& weight, std::int64_t axis, int bits, Tensor abs_max) {
  const Tensor aligned = weight.aligned();
  auto from = aligned.data<float>();
  QuantizedWeight result{Tensor(DType::kInt8, weight.shape()), std::move(abs_max), axis, bits};
  auto scales = result.abs_max.data<float>();
  auto to = result.integers.mutable_data<std::int8_t>();
  const float levels = result.levels();
  for_channels(weight.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float q = std::isnan(from[i]) ? 0.0f : std::nearbyint(from[i] / scales[c] * levels);
      to[i] = static_cast<std::int8_t>(std::clamp(q, -levels, levels));
    }
  });
  return result;
}

Tensor dequantize_weight(const QuantizedWeight& weight) {
  Tensor result(DType::kFloat32, weight.integers.shape());
  auto from = weight.integers.data<std::int8_t>();
  auto scales = weight.abs_max.data<float>();
  auto to = result.mutable_data<float>();
  const float levels = weight.levels();
  for_channels(result.shape(), weight.axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<float>(from[i]) * scales[c] / levels;
  });
  return result;
}

void correct_weight_statistics(const Tensor& weight, QuantizedWeight* quantized) {
  Tensor aligned = weight.aligned(), rounded = dequantize_weight(*quantized);
  auto from = aligned.data<float>(), back = rounded.data<float>();
  struct Sums {
    double w = 0, ww = 0, q = 0, qq = 0, count = 0;
  };
  std::vector<Sums> sums(static_cast<std::size_t>(quantized->abs_max.size()));
  for_channels(weight.shape(), quantized->axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double w = from[i], q = back[i];
      sums[c].w += w, sums[c].ww += w * w, sums[c].q += q, sums[c].qq += q * q, sums[c].count += 1;
    }
  });
  auto deviation = [](double sum, double squares, double count) {
    return std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
  };
  auto to = quantized->integers.mutable_data<std::int8_t>();
  auto scales = quantized->abs_max.data<float>();
  const float levels = quantized->levels();
  for_channels(weight.shape(), quantized->axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    const Sums& s = sums[c];
    double shift = (s.w - s.q) / s.count;
    double ratio = deviation(s.w, s.ww, s.count) / (deviation(s.q, s.qq, s.count) + 1e-8);
    for (std::size_t i = begin; i < end; ++i) {
      double corrected = (static_cast<double>(back[i]) + shift) * ratio;
      double q = std::nearbyint(corrected / static_cast<double>(scales[c]) * static_cast<double>(levels));
      to[i] =
          static_cast<std::int8_t>(std::clamp(q, -static_cast<double>(levels), static_cast<double>(levels)));
    }
  });
}

}  // namespace octet::quant
