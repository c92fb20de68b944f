#include "quant/sensitivity.h"

#include <algorithm>

#include "graph/op_table.h"
#include "metrics/compare.h"
#include "quant/insert.h"

namespace octet::quant {

namespace {

constexpr double kMinSqnr = 20;          // dB, of a tensor at an optional point
constexpr std::int64_t kFew = 8;         // pictures that every layer is tried on alone
constexpr double kMinErrorShare = 0.05;  // of the output's error, that a layer makes which stays in float,
constexpr double kErrorPerWork = 5;      // and of which it makes so many times its share of the work

// What the nodes from `first` on read of the nodes before them.
std::vector<ValueId> read_after(const Graph& graph, int first) {
  std::set<ValueId> made, read;
  for (std::size_t i = static_cast<std::size_t>(first); i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs)
      if (id != kNoValue && !graph.value(id).is_constant() && !made.contains(id)) read.insert(id);
    made.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
  }
  return {read.begin(), read.end()};
}

// The graph from this layer on, which is the only one that is quantized.
Graph from_layer_on(const Graph& graph, const Decisions& decisions, const Layer& layer,
                    const std::vector<ValueId>& judged) {
  Graph rest;
  rest.values = graph.values;
  rest.nodes.assign(graph.nodes.begin() + layer.node, graph.nodes.end());
  rest.inputs = read_after(graph, layer.node);
  std::set<ValueId> made;
  for (const Node& node : rest.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  for (ValueId id : judged)
    if (made.contains(id)) rest.outputs.push_back(id);
  InsertionPoints alone;
  alone.layers = {{0, layer.axis, true}};
  alone.inputs = {{0, 0}};
  insert_quantization(rest, alone, decisions.activations, decisions.weights);
  const ValueId output = node_of(graph, layer).outputs[0];
  if (auto numbers = decisions.corrections.find(output); numbers != decisions.corrections.end())
    add_to_channels(rest, output, numbers->second, graph.value(output).shape.size() == 4 ? 1 : -1);
  infer_shapes(rest);
  return rest;
}

// Whether nobody else reads the layer's input as integers.
bool reads_alone(const Graph& graph, const InsertionPoints& points, const Layer& layer) {
  const ValueId x = node_of(graph, layer).inputs[0];
  return std::count_if(points.inputs.begin(), points.inputs.end(),
                       [&](const InsertionPoint& point) { return tensor_of(graph, point) == x; }) == 1;
}

// Without their errors; `floats` has the layers' outputs.
std::vector<LayerShare> shares_of_work(const Graph& graph, const InsertionPoints& points,
                                       const std::map<ValueId, Tensor>& floats) {
  std::vector<LayerShare> result;
  double all_work = 0, all_weights = 0;
  for (const Layer& layer : points.layers) {
    const Node& node = node_of(graph, layer);
    LayerShare share{.layer = layer};
    share.work = static_cast<double>(multiply_adds(graph, node, floats.at(node.outputs[0]).shape()));
    share.weights = layer.weights ? static_cast<double>(graph.value(weights_of(node)).constant.size()) : 0;
    all_work += share.work, all_weights += share.weights;
    if (layer.weights && reads_alone(graph, points, layer)) result.push_back(share);
  }
  for (LayerShare& share : result) share.work /= all_work, share.weights /= all_weights;
  return result;
}

// The tensors of the float graph that the layers and what comes behind them read and make, for each part of
// the sample.
std::vector<std::map<ValueId, Tensor>> float_tensors(const Graph& graph, const InsertionPoints& points,
                                                     const CalibrationSample& sample, ThreadPool& pool) {
  std::set<ValueId> wanted;
  for (const Layer& layer : points.layers) {
    for (ValueId id : read_after(graph, layer.node)) wanted.insert(id);
    wanted.insert(node_of(graph, layer).outputs[0]);
  }
  TensorRunner runner(graph, {wanted.begin(), wanted.end()}, pool);
  std::vector<std::map<ValueId, Tensor>> result;
  for (const auto& inputs : sample) {
    runner.run(inputs);
    std::map<ValueId, Tensor>& tensors = result.emplace_back();
    for (ValueId id : wanted) tensors[id] = runner[id].clone();
  }
  return result;
}

// With its weights goes the correction: both were made for a quantized input.
void leave_in_float(const Graph& graph, const Layer& left, Decisions* decisions) {
  InsertionPoints& points = decisions->points;
  const Node& node = node_of(graph, left);
  const ValueId weight = weights_of(node);
  points.inputs.erase({left.node, 0});
  std::erase_if(points.layers, [&](const Layer& layer) { return layer.node == left.node; });
  decisions->corrections.erase(node.outputs[0]);
  if (std::ranges::any_of(points.layers, [&](const Layer& layer) {
        return layer.weights && weights_of(node_of(graph, layer)) == weight;
      }))
    return;
  decisions->weights.erase(weight);
}

std::map<ValueId, double> tensor_sqnr(const Graph& graph, const Decisions& decisions,
                                      const std::vector<ValueId>& tensors, const CalibrationSample& sample,
                                      ThreadPool& pool) {
  TensorRunner runner(graph, tensors, pool);
  std::vector<Comparer> comparers(tensors.size());
  for (const auto& inputs : sample) {
    runner.run(inputs);
    pool.parallel_for(static_cast<std::int64_t>(tensors.size()), [&](std::int64_t i) {
      ValueId id = tensors[static_cast<std::size_t>(i)];
      Tensor found = fake_quantized(runner[id], decisions.activations.at(id));
      comparers[static_cast<std::size_t>(i)].add(runner[id].data<float>(), found.data<float>());
    });
  }
  std::map<ValueId, double> result;
  for (std::size_t i = 0; i < tensors.size(); ++i) result[tensors[i]] = comparers[i].result().sqnr_db;
  return result;
}

}  // namespace

std::vector<LayerShare> layer_shares(const Graph& graph, const Decisions& decisions,
                                     const CalibrationSample& sample, const OutputError& output,
                                     ThreadPool& pool, const Progressed& progress) {
  const std::vector<std::map<ValueId, Tensor>> floats = float_tensors(graph, decisions.points, sample, pool);
  if (floats.empty()) return {};
  std::vector<LayerShare> result = shares_of_work(graph, decisions.points, floats[0]);
  std::int64_t done = 0;
  for (LayerShare& share : result) {
    progress(done++, static_cast<std::int64_t>(result.size()));
    const Graph rest = from_layer_on(graph, decisions, share.layer, output.tensors());
    TensorRunner runner(rest, rest.outputs, pool);
    for (std::size_t part = 0; part < sample.size(); ++part) {
      std::vector<Tensor> inputs;
      for (ValueId id : rest.inputs) inputs.push_back(floats[part].at(id));
      runner.run(inputs);
      share.error += output.of_part(part, rest.outputs, runner);
    }
  }
  return result;
}

void leave_sensitive_layers(const Graph& graph, Decisions* decisions, double float_share,
                            const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress) {
  const CalibrationSample few = first_of(sample, kFew);
  OutputError output(graph, few, pool);
  std::vector<LayerShare> layers = layer_shares(graph, *decisions, few, output, pool, progress);
  std::sort(layers.begin(), layers.end(),
            [](const LayerShare& a, const LayerShare& b) { return a.error > b.error; });
  double error = 0;  // that is left
  for (const LayerShare& share : layers) error += share.error;
  // What may still be left in float: few weights, for they take four times the room then. Others stay
  // integers in the file; it is the activations that make most of the error.
  double work = float_share, weights = float_share / 5;
  InsertionPoints& points = decisions->points;
  for (const LayerShare& share : layers) {
    if (share.error < kMinErrorShare * error || share.error == 0) break;
    if (share.work > work || share.error < kErrorPerWork * share.work * error) continue;
    work -= share.work;
    error -= share.error;
    leave_in_float(graph, share.layer, decisions);
    if (share.weights <= weights)
      weights -= share.weights;
    else
      points.only_weights.push_back(share.layer);
  }
}

void drop_noisy_points(const Graph& graph, Decisions* decisions, const CalibrationSample& sample,
                       ThreadPool& pool) {
  std::set<InsertionPoint>& optional = decisions->points.optional;
  if (optional.empty()) return;
  std::set<ValueId> tensors;
  for (const InsertionPoint& point : optional) tensors.insert(tensor_of(graph, point));
  std::map<ValueId, double> sqnr =
      tensor_sqnr(graph, *decisions, {tensors.begin(), tensors.end()}, sample, pool);
  // An op that reads one of its inputs as floats is no integer op, and reads the others as floats, too.
  std::set<int> nodes;
  for (const InsertionPoint& point : optional)
    if (!(sqnr.at(tensor_of(graph, point)) >= kMinSqnr)) nodes.insert(point.node);
  std::erase_if(optional, [&](const InsertionPoint& point) {
    return nodes.contains(point.node) && decisions->points.inputs.erase(point) > 0;
  });
  for (int i : nodes)
    std::erase_if(decisions->points.same_threshold, [&](const std::vector<ValueId>& group) {
      return group[0] == graph.nodes[static_cast<std::size_t>(i)].outputs[0];
    });
  decisions->use(decisions->choices);
}

}  // namespace octet::quant
