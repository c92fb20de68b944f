#pragma once
#include "graph/graph.h"

namespace octet::quant {

// The int8 model of a graph with trained fake_quant nodes (fake_quant.h): quantize and dequantize nodes and
// int8 weights in their place. Batch norms are folded, which leaves the trained integers as they are: with a
// scale per output channel, the factor of a channel goes into its scale, and the sign of a negative one into
// its integers. A graph without trained layers stays as it is. `onnx_format` is that of decisions.h.
Graph deployable(Graph graph, bool onnx_format = true);

}  // namespace octet::quant
