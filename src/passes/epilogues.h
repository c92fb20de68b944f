#pragma once
#include "passes/uses.h"

// What the passes that put one op into the epilogue of another have in common (docs/ops.md, "Epilogues").
namespace octet {

// Where a node keeps what belongs to its epilogue. -1: it has no such input.
struct EpilogueSlots {
  int bias = -1, out_scale = -1, residual = -1;
};

bool has_epilogue(const Node& node);
bool is_linear(const Node& node);  // a convolution or a product: it has all three slots
EpilogueSlots epilogue_slots(const Node& node);
// Along which dimension of the weight of a float convolution or product its output channels lie.
std::int64_t weight_channel_axis(const Node& layer);

ValueId input_of(const Node& node, int slot);  // kNoValue when it is absent
void set_input(Node& node, int slot, ValueId id);

// Whether nothing comes after the sum and bias (and residual) yet: no activation function, no quantization.
bool is_open(const Node& node);

// The output channels of a convolution or product; kUnknown when its weight's shape does not tell.
std::int64_t channels_of(const Graph& graph, const Node& node);

// Whether a constant of this shape, in an elementwise op with `axis`, has one element for each output channel
// of the linear node `layer`.
bool lies_along_channels(const Graph& graph, const Node& layer, const Shape& constant, std::int64_t axis);

// Whether each output of a conv2d node with this weight has one tap, which lies inside of the image.
bool has_one_tap(const Node& conv, const Shape& weight);

// The only node that reads the first output of `node`; null when there are more or the user sees it.
Node* only_reader(Graph& graph, const Uses& uses, const Node& node);

// `consumer` goes away, and `node` makes its output.
void take_over(Node& node, Node& consumer);
// Nodes that gave themselves up; each pass ends with it.
void remove_taken_over(Graph& graph);

}  // namespace octet
