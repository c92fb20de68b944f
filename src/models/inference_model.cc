#include "models/inference_model.h"

#include <algorithm>

#include "base/error.h"
#include "formats/format.h"
#include "graph/op_table.h"

namespace octet::models {

namespace {

bool hands_on(const Node& node) {
  return node.op == "identity" ||
         (node.op == "scale" && attr<double>(node, "scale") == 1.0 && attr<double>(node, "bias") == 0.0);
}

}  // namespace

InferenceModel load_inference_model(const std::string& path, const LoadOptions& options) {
  InferenceModel model{.graph = octet::load_model(path, options)};
  Graph& graph = model.graph;
  if (is_quantized(graph)) fail("{}: the model is quantized already; start from its float version", path);
  if (graph.inputs.size() != 1)
    fail("{}: a model with {} inputs can't be trained", path, graph.inputs.size());
  graph.outputs.resize(1);
  for (;;) {
    const ValueId output = graph.outputs[0];
    auto last = std::ranges::find_if(graph.nodes, [&](const Node& n) { return n.outputs.at(0) == output; });
    if (last == graph.nodes.end() || !(hands_on(*last) || last->op == "softmax")) break;
    const bool is_softmax = last->op == "softmax";
    graph.outputs = {last->inputs.at(0)};
    graph.nodes.erase(last);
    if (!is_softmax) continue;
    model.had_softmax = true;
    break;
  }
  infer_shapes(graph);
  return model;
}

}  // namespace octet::models
