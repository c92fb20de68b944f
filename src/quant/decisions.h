#pragma once
#include <map>

#include "quant/insertion_points.h"
#include "quant/weights.h"

namespace octet::quant {

// A threshold, and the method that found it.
struct Choice {
  std::string_view method;
  float threshold = 0;
};

// A tensor that a layer reads is made smaller by `centre`, so that what lies
// between the least value, which is 0 or little less, and `top` has all of the integers.
struct InputShift {
  float centre = 0, threshold = 0;  // threshold: of what is left
  double top = 0;
  std::vector<double> of_outputs;  // what makes up for it in the layer's bias
  bool by_own_op = false;          // no ReLU in front takes the subtraction in
};

// All that makes an int8 model of a float graph, as far as it is decided; by the values of that graph.
struct Decisions {
  InsertionPoints points;
  int bits = 8;                                        // of activations that a threshold is chosen for
  std::map<ValueId, Choice> choices;                   // who chose the threshold of a tensor
  std::map<ValueId, Quantization> activations;         // what it became: some tensors share one
  std::map<ValueId, InputShift> shifts;                // of tensors; they have this threshold and no other
  std::map<ValueId, QuantizedWeight> weights;          // of layers
  std::map<ValueId, std::vector<double>> corrections;  // to be added to the channels of layers' outputs

  // Sets `activations`, and gives tensors that hand integers on the largest threshold among them.
  void use(const std::map<ValueId, Choice>& choices);
};

// Adds one number per channel to a tensor: to the constant that is added to it anyway, or by a new node.
void add_to_channels(Graph& graph, ValueId made, const std::vector<double>& numbers, std::int64_t axis);

// The int8 model. `onnx_format` false: in Paddle's older generation of quantized files.
Graph quantized_graph(const Graph& graph, const Decisions& decisions, bool onnx_format = true);

}  // namespace octet::quant
