#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet {

void fold_constants(Graph& graph, const Evaluate& evaluate, bool weights_too) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 26;  // what a small file may blow itself up to
  std::vector<bool> is_output(graph.values.size());
  for (ValueId id : graph.outputs) is_output[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    bool folds = find_op(node.op) && !node.inputs.empty() && node.outputs.size() == 1 &&
                 node.outputs[0] != kNoValue && !is_output[static_cast<std::size_t>(node.outputs[0])];
    bool quantizes = spec_of(node).kind == OpKind::kQuantization;
    if (quantizes && !weights_too) folds = false;
    std::vector<const Tensor*> inputs;
    std::vector<Tensor> aligned(node.inputs.size());
    for (std::size_t i = 0; folds && i < node.inputs.size(); ++i) {
      bool absent = node.inputs[i] == kNoValue;
      if (!absent && !graph.value(node.inputs[i]).is_constant()) folds = false;
      if (!absent && folds) aligned[i] = graph.value(node.inputs[i]).constant.aligned();
      inputs.push_back(absent ? nullptr : &aligned[i]);
    }
    if (folds) {
      std::vector<ValueInfo> infos(inputs.size()), outputs(1);
      std::vector<const ValueInfo*> pointers(inputs.size(), nullptr);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i]) {
          infos[i] = {inputs[i]->dtype(), inputs[i]->shape(), inputs[i]};
          pointers[i] = &infos[i];
        }
      infer_node(graph, node, pointers, outputs);
      folds = is_known(outputs[0].shape) && element_count(outputs[0].shape) <= kMaxElements;
      if (folds) {
        Tensor result(outputs[0].dtype, outputs[0].shape);
        folds = evaluate(node, inputs, &result);
        if (folds) {
          Value& value = graph.value(node.outputs[0]);
          value.dtype = result.dtype();
          value.shape = result.shape();
          value.constant = std::move(result);
        }
      }
    }
    if (!folds) kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

}  // namespace octet
