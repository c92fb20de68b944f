#include "quant/sensitivity.h"

#include <algorithm>

#include "passes/uses.h"
#include "quant/insert.h"

namespace octet::quant {

namespace {

// The nodes from `first` on; its inputs are what they read of the nodes before.
Graph rest_of(const Graph& graph, int first) {
  Graph rest = graph;
  rest.nodes.erase(rest.nodes.begin(), rest.nodes.begin() + first);
  std::set<ValueId> made, read;
  for (const Node& node : rest.nodes) {
    for (ValueId id : node.inputs)
      if (id != kNoValue && !graph.value(id).is_constant() && !made.contains(id)) read.insert(id);
    made.insert(node.outputs.begin(), node.outputs.end());
  }
  rest.inputs.assign(read.begin(), read.end());
  std::erase_if(rest.outputs, [&](ValueId id) { return !made.contains(id); });
  return rest;
}

}  // namespace

std::vector<LayerShare> layer_shares(const Graph& graph, const Decisions& decisions, const Sample& sample,
                                     const OutputError& output, ThreadPool& pool,
                                     const Progressed& progress) {
  const Points& points = decisions.points;
  auto node = [&](const Layer& layer) -> const Node& {
    return graph.nodes[static_cast<std::size_t>(layer.node)];
  };
  // Every tensor of the float model, for each part of the sample.
  std::set<ValueId> wanted;
  for (const Layer& layer : points.layers) {
    Graph rest = rest_of(graph, layer.node);
    wanted.insert(rest.inputs.begin(), rest.inputs.end());
    wanted.insert(node(layer).outputs[0]);
  }
  std::vector<std::unique_ptr<TensorRunner>> floats;
  for (const auto& inputs : sample) {
    floats.push_back(
        std::make_unique<TensorRunner>(graph, std::vector<ValueId>(wanted.begin(), wanted.end()), pool));
    floats.back()->run(inputs);
  }
  std::vector<LayerShare> result;
  double all_work = 0, all_weights = 0;
  std::int64_t done = 0;
  for (const Layer& layer : points.layers) {
    progress(done++, static_cast<std::int64_t>(points.layers.size()));
    const Node& n = node(layer);
    LayerShare share{.layer = layer};
    share.work = static_cast<double>(multiply_adds(graph, n, (*floats[0])[n.outputs[0]].shape()));
    share.weights = layer.weights ? static_cast<double>(graph.value(n.inputs[1]).constant.size()) : 0;
    all_work += share.work, all_weights += share.weights;
    auto others = std::count_if(points.edges.begin(), points.edges.end(), [&](const Edge& edge) {
      return graph.nodes[static_cast<std::size_t>(edge.node)].inputs[static_cast<std::size_t>(edge.slot)] ==
             n.inputs[0];
    });
    if (!layer.weights || others != 1) continue;
    Graph rest = rest_of(graph, layer.node);
    Sample inputs;
    for (const auto& runner : floats) {
      std::vector<Tensor>& part = inputs.emplace_back();
      for (ValueId id : rest.inputs) part.push_back((*runner)[id]);
    }
    Points alone;
    alone.layers = {{0, layer.axis, true}};
    alone.edges = {{0, 0}};
    insert_quantization(rest, alone, decisions.thresholds, decisions.weights, {.bits = decisions.bits});
    infer_shapes(rest);
    share.error = output.of(rest, inputs);
    result.push_back(share);
  }
  for (LayerShare& share : result) share.work /= all_work, share.weights /= all_weights;
  return result;
}

}  // namespace octet::quant
