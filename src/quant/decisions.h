#pragma once
#include <map>

#include "quant/points.h"
#include "quant/thresholds.h"
#include "quant/weights.h"

namespace octet::quant {

struct Choice {
  Algorithm algorithm = Algorithm::kAbsMax;
  float threshold = 0;
};

// All that makes an int8 model of a float graph, as far as it is decided; by the values of that graph.
struct Decisions {
  Points points;
  int bits = 8;                                        // of activations
  std::map<ValueId, Choice> choices;                   // who chose the threshold of a tensor
  std::map<ValueId, float> thresholds;                 // what it became: some tensors share one
  std::map<ValueId, QuantizedWeight> weights;          // of layers
  std::map<ValueId, std::vector<double>> corrections;  // to be added to the channels of layers' outputs
};

// The int8 model. `onnx_format` false: in Paddle's older generation of quantized files.
Graph quantized_graph(const Graph& graph, const Decisions& decisions, bool onnx_format = true);

}  // namespace octet::quant
