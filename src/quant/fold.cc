#include "quant/fold.h"

#include <set>

#include "graph/op_table.h"
#include "passes/passes.h"
#include "passes/uses.h"

namespace octet::quant {

std::map<ValueId, FoldedWeight> fold_batch_norms_in_file(Graph& graph) {
  auto is_conv = [](const Node& node) { return spec_of(node).kind == OpKind::kConvolution; };
  std::vector<ValueId> weights, outputs;  // of the convolutions, which stay and keep their order
  for (const Node& node : graph.nodes)
    if (is_conv(node)) weights.push_back(weights_of(node)), outputs.push_back(node.outputs[0]);
  std::map<ValueId, std::vector<double>> factors;
  fold_batch_norm(graph, &factors);
  std::map<ValueId, FoldedWeight> folded;
  std::set<ValueId> read;
  for (const Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  std::vector<Node> nodes;
  std::size_t conv = 0;
  for (Node& node : graph.nodes) {
    if (!is_conv(node)) {
      nodes.push_back(std::move(node));
      continue;
    }
    ValueId was = weights.at(conv), sum = outputs.at(conv);
    ++conv;
    const ValueId weight = weights_of(node), bias = input_of(node, "bias"), made = node.outputs[0];
    if (const auto found = factors.find(weight); found != factors.end())
      folded[weight] = {was, std::move(found->second)};
    if (weight != was && !read.contains(was)) std::swap(graph.value(weight).name, graph.value(was).name);
    if (bias == kNoValue) {
      nodes.push_back(std::move(node));
      continue;
    }
    // Where a batch norm was folded, its name is that of the sum with the bias, and the convolution's is
    // free.
    if (sum == made)
      sum =
          graph.add_value(graph.value(made).name + ".conv", DType::kFloat32, Shape(graph.value(made).shape));
    node.inputs.resize(2);  // without the bias
    node.outputs[0] = sum;
    nodes.push_back(std::move(node));
    nodes.push_back(
        {.op = "add", .inputs = {sum, bias}, .outputs = {made}, .attrs = {{"axis", std::int64_t{1}}}});
  }
  graph.nodes = std::move(nodes);
  // What nobody reads any more is not written, and must not stand in the way of a name.
  std::set<ValueId> alive(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) {
    alive.insert(node.inputs.begin(), node.inputs.end());
    alive.insert(node.outputs.begin(), node.outputs.end());
  }
  for (std::size_t id = 0; id < graph.values.size(); ++id)
    if (!alive.contains(static_cast<ValueId>(id))) {
      graph.values[id].name.clear();
      graph.values[id].constant = {};
    }
  return folded;
}

}  // namespace octet::quant
