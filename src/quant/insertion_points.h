#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

// Where quantization goes: what of a graph becomes int8.
namespace octet::quant {

// For whom the file is made.
enum class Deploy : std::uint8_t {
  kOctet,   // activations stay int8 from layer to layer
  kPaddle,  // what PaddleSlim quantizes: the inputs of convolutions and products
};

struct InsertionPointOptions {
  Deploy deploy = Deploy::kOctet;
  // Paddle's names of ops. Convolutions and products have their weights quantized, others only their inputs.
  std::vector<std::string> op_types = {"conv2d", "depthwise_conv2d", "conv2d_transpose",
                                       "mul",    "matmul",           "matmul_v2"};
  bool everything = false;                // PaddleSlim's is_full_quantize: the inputs of every float op
  std::vector<std::string> skip_tensors;  // ops that read one of these stay in float
  std::vector<std::string> keep_float;    // names or globs of layers: of their outputs, weights or ops
};

// A convolution or product that becomes an integer one.
struct Layer {
  int node = -1;
  std::int64_t axis = 0;  // of the weights' output channels
  bool weights = true;    // false: a product of two activations
};

inline const Node& node_of(const Graph& graph, const Layer& layer) {
  return graph.nodes[static_cast<std::size_t>(layer.node)];
}

// Where a quantize/dequantize pair goes: an input of a node, which reads the tensor's integers in place of
// its floats.
struct InsertionPoint {
  int node = -1;
  int slot = -1;
  auto operator<=>(const InsertionPoint&) const = default;
};

inline ValueId tensor_of(const Graph& graph, const InsertionPoint& point) {
  return graph.nodes[static_cast<std::size_t>(point.node)].inputs[static_cast<std::size_t>(point.slot)];
}

struct InsertionPoints {
  std::vector<Layer> layers;          // whose weights become integers
  std::vector<Layer> only_weights;    // theirs are integers in the file; the layer computes in float
  std::set<InsertionPoint> inputs;    // that become integers, of these and other nodes
  std::set<InsertionPoint> optional;  // those of them that only Deploy::kOctet has, and that may be given up
  // Tensors that must have one threshold, so that integers are handed on without rescaling: what an op makes,
  // and what it reads.
  std::vector<std::vector<ValueId>> same_threshold;

  // The tensors that get a threshold.
  std::set<ValueId> tensors(const Graph& graph) const;
};

InsertionPoints find_insertion_points(const Graph& graph, const InsertionPointOptions& options);

}  // namespace octet::quant
