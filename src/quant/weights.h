#pragma once
#include "graph/quantization.h"
#include "tensor/tensor.h"

namespace octet::quant {

// Weights as integers, int8, and what these stand for.
struct QuantizedWeight {
  Tensor integers;
  Quantization quantization;
};

// Channels run along `axis`; -1: one scale for all. A channel of zeros, or of numbers too small to matter,
// gets the smallest scale there is.
QuantizedWeight quantize_weight(const Tensor& weight, std::int64_t axis, int bits);

// The same with steps that are known.
QuantizedWeight quantize_weight(const Tensor& weight, Quantization quantization);

// Back to float.
Tensor dequantize_weight(const QuantizedWeight& weight);

// Calls work(channel, begin, end) for the runs of elements that belong to one channel.
template <class Work>
void for_channels(const Shape& shape, std::int64_t axis, const Work& work) {
  std::int64_t inner = 1, channels = 1, total = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    total *= shape[i];
    if (axis >= 0 && i > static_cast<std::size_t>(axis)) inner *= shape[i];
  }
  if (axis >= 0) channels = shape[static_cast<std::size_t>(axis)];
  if (axis < 0) inner = total;
  for (std::int64_t at = 0, run = 0; at < total; at += inner, ++run)
    work(static_cast<std::size_t>(run % channels), static_cast<std::size_t>(at),
         static_cast<std::size_t>(at + inner));
}

// Paddle's bias correction: moves mean and deviation of each channel's integers to those of the floats.
void correct_weight_statistics(const Tensor& weight, QuantizedWeight* quantized);

}  // namespace octet::quant
