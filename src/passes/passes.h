#pragma once
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

// Everything that the runtime does to a graph before it runs it.
void optimize(Graph& graph);

}  // namespace octet
