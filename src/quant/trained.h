#pragma once
#include <string>
#include <vector>

#include "formats/paddle/state_dict.h"
#include "graph/graph.h"
#include "quant/weights.h"

// Quantization that was learned: from a float graph and what training found to an int8 one.
namespace octet::quant {

// A convolution or product whose input and weights are integers.
struct TrainedLayer {
  std::string weight;       // the name of its weights in the graph
  float input_abs_max = 0;  // the range of its input
  int input_bits = 8;
  QuantizedWeight quantized =
      {};  // of the weights as they were trained, before batch norms are folded into them
};

// The float graph with quantize and dequantize nodes and int8 weights. Batch norms are folded, which leaves
// the trained integers as they are: with a scale for each output channel, a factor of the channel goes into
// its scale, and the sign of a negative one into its integers. `onnx_format` is that of insert.h.
Graph deployable(Graph graph, const std::vector<TrainedLayer>& layers, bool onnx_format);

// What a checkpoint says of quantization; empty: it is one of a float network. Entries are named after the
// layer, as PaddleSlim does it: LAYER._fake_quant_input._scale, ._bits, LAYER._fake_quant_weight._scale,
// ._bits, LAYER._act_preprocess.alpha.
std::vector<TrainedLayer> trained_layers(const Graph& graph, const paddle::StateDict& state);

// "features.0.0" for "features.0.0.weight": what entries of a checkpoint that belong to a layer begin with.
std::string layer_name(const std::string& weight);

// The dimension of the output channels in the weights of a node that can be quantized; -1: it can't.
std::int64_t weight_axis(const Graph& graph, const Node& node);

}  // namespace octet::quant
