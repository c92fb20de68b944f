#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensor/state_dict.h"

// Quantization that is trained lives in the graph: fake_quant nodes (docs/ops.md) in front of the input and
// the weights of layers. Their ranges are constants that a Network learns or keeps as statistics; on export
// they become quantize and dequantize nodes and int8 weights (deployable.h).
//
//   insert_fake_quant(graph, {{.node = 0}});            // or read_fake_quant(graph, checkpoint)
//   ...                                                 // train
//   Graph int8 = deployable(graph, /*onnx_format=*/true);
namespace octet::quant {

// What the fake_quant node of a tensor does; `method` is its attribute.
struct FakeQuant {
  std::string method = "pact";
  int bits = 8;
  bool per_channel = false;  // weights only
  double moving_rate = 0.9;  // activations only
};

// A convolution or product to be trained on integers.
struct FakeQuantLayer {
  int node = -1;
  FakeQuant input = {};
  FakeQuant weight = {.method = "abs_max", .per_channel = true};
};

// Layers that read the same tensor share its node, which has the method of the first and the most bits of
// all. The constants begin as 1 and have the names of their entries in a checkpoint:
// LAYER._fake_quant_input._scale,
// ._state and ._accum, LAYER._act_preprocess.alpha, LAYER._fake_quant_weight._scale, with the name of the
// first layer. All nodes must have a weight_axis.
void insert_fake_quant(Graph& graph, const std::vector<FakeQuantLayer>& layers);

// The same from the entries of a checkpoint, with their ranges. False: it is one of a float network.
bool read_fake_quant(Graph& graph, const StateDict& state);
// Those entries, for each layer: what insert_fake_quant names, ._bits, ._moving_rate, and ._learned for
// weights.
void write_fake_quant(const Graph& graph, StateDict& state);

// A layer with trained quantization: its node and its two fake_quant nodes, all of the graph.
struct TrainedLayer {
  const Node *node = nullptr, *input = nullptr, *weight = nullptr;
};
std::vector<TrainedLayer> trained_layers(const Graph& graph);

// Without the fake_quant nodes that insert_fake_quant has put there.
Graph float_graph(Graph graph);

// "features.0.0" for "features.0.0.weight": what entries of a checkpoint that belong to a layer begin with.
std::string layer_name(const std::string& weight);

// The dimension of the output channels in the weights of a node that can be quantized; -1: it can't.
std::int64_t weight_axis(const Graph& graph, const Node& node);

// Whether a node is one of insert_fake_quant's; those of files have ranges that are fixed.
bool is_trained(const Node& node);

}  // namespace octet::quant
