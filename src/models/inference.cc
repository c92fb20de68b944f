#include "models/inference.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet::models {

namespace {

struct OutputRow {
  OutputOp output;
  const char* op;
};

constexpr OutputRow kOutputs[] = {{OutputOp::kSoftmax, "softmax"}, {OutputOp::kArgmax, "arg_max"}};

// Puts an op behind the scores, which are one of the graph's outputs.
ValueId append(Graph& graph, ValueId scores, const char* op, DType class_dtype) {
  const bool is_image = graph.value(scores).shape.size() == 4;  // scores of each pixel
  const std::int64_t axis = is_image ? 1 : -1;
  int number = 0;  // the graph of an inference model knows the name of the softmax that it had
  while (graph.find_value(fmt::format("{}_{}", op, number)) != kNoValue) ++number;
  const ValueId made = graph.add_value(fmt::format("{}_{}", op, number));
  Node node{.op = op, .inputs = {scores}, .outputs = {made}, .attrs = {{"axis", axis}}};
  if (has_attr(spec_of(node), "dtype")) node.attrs["dtype"] = std::string(name_of(class_dtype));
  graph.nodes.push_back(std::move(node));
  return made;
}

}  // namespace

void to_inference(Graph& graph, const InferenceOptions& options) {
  if (!options.keep_aux) graph.outputs.resize(1);
  remove_identities(graph);
  remove_dead_nodes(graph);
  for (const OutputRow& row : kOutputs) {
    if (row.output != options.output) continue;
    for (ValueId& output : graph.outputs) output = append(graph, output, row.op, options.class_dtype);
  }
  verify(graph);
  infer_shapes(graph);
}

void fix_input_shape(Graph& graph, const Shape& shape) {
  check(graph.inputs.size() == 1, "a network of the zoo has one input");
  Shape& input = graph.value(graph.inputs[0]).shape;
  bool fits = shape.size() == input.size();
  for (std::size_t i = 1; fits && i < shape.size(); ++i)
    fits = shape[i] > 0 && (input[i] == kUnknown || input[i] == shape[i]);
  if (!fits || (shape[0] != kUnknown && shape[0] < 1))
    fail("an input of {} is asked for, and the network takes {}", to_string(shape), to_string(input));
  input = shape;
  fold_shapes(graph);
}

}  // namespace octet::models
