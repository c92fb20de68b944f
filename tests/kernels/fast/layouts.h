#pragma once
#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet::testing {

// A node in the middle of a network: its images come from a pooling of one pixel, which wants channels-last
// and changes nothing, and its outputs are not those of the graph, so that it may work in place.
inline Graph in_channels_last(Graph graph) {
  Node node = std::move(graph.nodes[0]);
  graph.nodes.clear();
  for (ValueId& id : node.inputs) {
    if (id == kNoValue || graph.value(id).is_constant() || graph.value(id).shape.size() != 4) continue;
    DType dtype = graph.value(id).dtype;
    if (dtype != DType::kFloat32 && dtype != DType::kInt8) continue;
    ValueId made = graph.add_value(graph.value(id).name + ".pooled");
    graph.nodes.push_back(
        {.op = dtype == DType::kInt8 ? "qpool2d" : "pool2d", .inputs = {id}, .outputs = {made}, .attrs = {}});
    id = made;
  }
  graph.nodes.push_back(node);
  graph.outputs.clear();
  for (ValueId id : node.outputs) {
    ValueId made = graph.add_value(graph.value(id).name + ".copy");
    graph.nodes.push_back({.op = "identity", .inputs = {id}, .outputs = {made}, .attrs = {}});
    graph.outputs.push_back(made);
  }
  infer_shapes(graph);
  return graph;
}

// As expect_as_reference, with plain images and with images in channels-last.
inline void expect_in_both_layouts(const std::string& op, const std::string& kernel,
                                   const std::vector<Tensor>& inputs, Attrs attrs = {},
                                   const std::vector<std::size_t>& constants = {}, int outputs = 1) {
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].empty() && std::find(constants.begin(), constants.end(), i) == constants.end())
      given.push_back(inputs[i]);
  Graph graph = node_with_constants(op, inputs, std::move(attrs), constants, outputs);
  expect_graph_as_reference(graph, op, kernel, given);
  if (!::testing::Test::HasFatalFailure())
    expect_graph_as_reference(in_channels_last(graph), op, kernel, given);
}

}  // namespace octet::testing
