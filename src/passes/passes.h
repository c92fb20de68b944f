#pragma once
#include <functional>

#include "graph/graph.h"

// Rewrites of a graph, one a file. Each keeps what the graph's outputs are.
namespace octet {

// Brings every way of saying "quantized" into one: quantize to int8, dequantize, op. The older generation of
// Paddle's models convolves integers held as floats and dequantizes the sums; here its weights become int8
// and its convolutions read dequantized tensors, like the newer generation's. What does not fit the pattern
// stays as it is.
void to_qdq_form(Graph& graph);

// Convolutions and matrix products between dequantize nodes become integer ops (qconv2d, qconv2d_transpose,
// qmatmul). A bias that is added behind one goes into its epilogue.
void lower_to_integer(Graph& graph);

// Drops nodes whose results nobody reads.
void remove_dead_nodes(Graph& graph);

// Gives every image that a node makes the layout that the node's implementation needs, and puts reorder nodes
// where one implementation reads what another has made in another layout. The graph's inputs and outputs stay
// plain.
void assign_layouts(Graph& graph, const std::function<LayoutNeed(const Node&)>& need);

// Everything that the runtime does to a graph before it runs it.
void optimize(Graph& graph);

}  // namespace octet
