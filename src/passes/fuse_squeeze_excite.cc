#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// Whether `gate` is made of `image` by a chain of nodes: pool, layer, layer in most networks. Then there is
// one for each image of a batch.
bool is_made_of(const Graph& graph, const Uses& uses, ValueId gate, ValueId image) {
  constexpr int kLongest = 8;
  for (int i = 0; i < kLongest && gate != image; ++i) {
    int maker = uses.producer(gate);
    if (maker < 0) return false;
    const Node& node = graph.nodes[static_cast<std::size_t>(maker)];
    bool is_link = node.op == "conv2d" || node.inputs.size() == 1;
    if (!is_link || node.inputs[0] == kNoValue) return false;
    gate = node.inputs[0];
  }
  return gate == image;
}

}  // namespace

void fuse_squeeze_excite(Graph& graph) {
  Uses uses(graph);
  for (Node& mul : graph.nodes) {
    if (mul.op != "mul" || !is_open(mul)) continue;
    Node* conv = only_reader(graph, uses, mul);
    if (!conv || conv->op != "conv2d" || conv->inputs[0] != mul.outputs[0] ||
        input_of(*conv, "gate") != kNoValue)
      continue;
    const Shape& weight = graph.value(input_of(*conv, "weight")).shape;
    using Ints = std::vector<std::int64_t>;
    if (weight.size() != 4 || weight[1] < 2 || !has_one_tap(*conv, weight) ||
        attr<std::int64_t>(*conv, "groups") != 1 || attr<Ints>(*conv, "strides") != Ints{1, 1})
      continue;
    for (int side : {0, 1}) {
      ValueId image = mul.inputs[static_cast<std::size_t>(side)];
      ValueId gate = mul.inputs[static_cast<std::size_t>(1 - side)];
      const Shape &shape = graph.value(image).shape, &gate_shape = graph.value(gate).shape;
      if (shape.size() != 4 || gate_shape != Shape{shape[0], weight[1], 1, 1} ||
          !is_made_of(graph, uses, gate, image))
        continue;
      // There are fewer weights than numbers in the image, as far as that is known.
      bool known = shape[2] != kUnknown && shape[3] != kUnknown;
      if (known && shape[2] * shape[3] < weight[0]) continue;
      conv->inputs[0] = image;
      set_input(*conv, "gate", gate);
      break;
    }
  }
}

}  // namespace octet
