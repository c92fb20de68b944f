#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

// What of a graph becomes int8.
namespace octet::quant {

// For whom the file is made.
enum class Deploy : std::uint8_t {
  kOctet,   // activations stay int8 from layer to layer
  kPaddle,  // what PaddleSlim quantizes: the inputs of convolutions and products
};

struct PointOptions {
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

// One input of a node.
struct Edge {
  int node = -1;
  int slot = -1;
  auto operator<=>(const Edge&) const = default;
};

inline ValueId tensor_of(const Graph& graph, const Edge& edge) {
  return graph.nodes[static_cast<std::size_t>(edge.node)].inputs[static_cast<std::size_t>(edge.slot)];
}

struct Points {
  std::vector<Layer> layers;
  std::set<Edge> edges;  // what reads a tensor's integers in place of its floats
  std::set<Edge> extra;  // those of them that only --deploy octet has, and that may be given up
  // Tensors that must have the threshold of another, to be handed on without rescaling.
  std::vector<std::vector<ValueId>> groups;

  // The tensors that get a threshold.
  std::set<ValueId> tensors(const Graph& graph) const;
};

Points find_points(const Graph& graph, const PointOptions& options);

// What Paddle calls the op of a node; its own name where that is the same.
std::string paddle_type(const Graph& graph, const Node& node);

// "conv*", "?" and plain names.
bool matches(std::string_view glob, std::string_view name);

}  // namespace octet::quant
