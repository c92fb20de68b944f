#include "quant/sensitivity.h"

#include <algorithm>

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

// Whether nobody else reads the layer's input as integers.
bool reads_alone(const Graph& graph, const Points& points, const Layer& layer) {
  const ValueId x = node_of(graph, layer).inputs[0];
  return std::count_if(points.edges.begin(), points.edges.end(),
                       [&](const Edge& edge) { return tensor_of(graph, edge) == x; }) == 1;
}

// Without their errors; `floats` has the layers' outputs.
std::vector<LayerShare> shares_of_work(const Graph& graph, const Points& points, const TensorRunner& floats) {
  std::vector<LayerShare> result;
  double all_work = 0, all_weights = 0;
  for (const Layer& layer : points.layers) {
    const Node& node = node_of(graph, layer);
    LayerShare share{.layer = layer};
    share.work = static_cast<double>(multiply_adds(graph, node, floats[node.outputs[0]].shape()));
    share.weights = layer.weights ? static_cast<double>(graph.value(node.inputs[1]).constant.size()) : 0;
    all_work += share.work, all_weights += share.weights;
    if (layer.weights && reads_alone(graph, points, layer)) result.push_back(share);
  }
  for (LayerShare& share : result) share.work /= all_work, share.weights /= all_weights;
  return result;
}

}  // namespace

std::vector<LayerShare> layer_shares(const Graph& graph, const Decisions& decisions, const Sample& sample,
                                     const OutputError& output, ThreadPool& pool,
                                     const Progressed& progress) {
  std::set<ValueId> wanted;
  for (const Layer& layer : decisions.points.layers) {
    Graph rest = rest_of(graph, layer.node);
    wanted.insert(rest.inputs.begin(), rest.inputs.end());
    wanted.insert(node_of(graph, layer).outputs[0]);
  }
  TensorRunner floats(graph, {wanted.begin(), wanted.end()}, pool);
  std::vector<LayerShare> result;
  std::int64_t done = 0;
  for (std::size_t part = 0; part < sample.size(); ++part) {
    floats.run(sample[part]);
    if (part == 0) result = shares_of_work(graph, decisions.points, floats);
    for (LayerShare& share : result) {
      progress(done++, static_cast<std::int64_t>(sample.size() * result.size()));
      Graph rest = rest_of(graph, share.layer.node);
      std::vector<Tensor> inputs;
      for (ValueId id : rest.inputs) inputs.push_back(floats[id]);
      Points alone;
      alone.layers = {{0, share.layer.axis, true}};
      alone.edges = {{0, 0}};
      insert_quantization(rest, alone, decisions.thresholds, decisions.weights, {.bits = decisions.bits});
      infer_shapes(rest);
      share.error += output.of_part(part, rest, inputs);
    }
  }
  return result;
}

}  // namespace octet::quant
