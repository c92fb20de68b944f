#pragma once
#include "quant/insertion_points.h"
#include "quant/weights.h"

namespace octet::quant {

struct InsertOptions {
  bool onnx_format = true;                  // false: Paddle's older generation of quantized files
  int bits = 8;                             // of activations,
  std::map<ValueId, int> tensor_bits = {};  // but for these
};

// Puts quantize and dequantize nodes where `points` says. Both maps are by the value in the float graph; what
// has no entry stays in float. The names are those that PaddleSlim gives.
void insert_quantization(Graph& graph, const InsertionPoints& points,
                         const std::map<ValueId, float>& thresholds,
                         const std::map<ValueId, QuantizedWeight>& weights, const InsertOptions& options);

}  // namespace octet::quant
