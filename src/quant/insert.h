#pragma once
#include "quant/insertion_points.h"
#include "quant/weights.h"

namespace octet::quant {

// Puts quantize and dequantize nodes where `points` says. Both maps are by the value in the float graph; what
// has no entry stays in float. The names are those that PaddleSlim gives. `onnx_format` false: Paddle's older
// generation of quantized files, whose ops round halves away from zero.
void insert_quantization(Graph& graph, const InsertionPoints& points,
                         const std::map<ValueId, Quantization>& activations,
                         const std::map<ValueId, QuantizedWeight>& weights, bool onnx_format = true);

}  // namespace octet::quant
