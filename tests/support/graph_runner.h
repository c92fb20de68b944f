#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/op_table.h"
#include "kernels/ref/ref.h"

// Runs single nodes in tests, as an executor would: shapes from the op table, arithmetic from the reference
// kernels.
//
//   Tensor y = run_node("relu", {Tensor::of<float>({2}, {-1, 1})});
//   EXPECT_THAT(values<float>(y), ElementsAre(0, 1));
namespace octet::testing {

// A graph of one node, its inputs and outputs. An empty Tensor() is an input that is absent.
inline Graph one_node(const std::string& op, const std::vector<Tensor>& inputs, Attrs attrs = {},
                      int outputs = 1) {
  Graph graph;
  Node node{.op = op, .inputs = {}, .outputs = {}, .attrs = std::move(attrs)};
  for (const Tensor& input : inputs) {
    std::string name = "in" + std::to_string(graph.values.size());
    ValueId id = input.empty() ? kNoValue : graph.add_value(name, input.dtype(), input.shape());
    node.inputs.push_back(id);
    if (id != kNoValue) graph.inputs.push_back(id);
  }
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(graph.add_value("out" + std::to_string(i)));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

inline std::vector<Tensor> run_node_multi(const std::string& op, const std::vector<Tensor>& inputs,
                                          Attrs attrs, int outputs, int threads = 1) {
  Graph graph = one_node(op, inputs, std::move(attrs), outputs);
  const Node& node = graph.nodes[0];
  std::vector<ValueInfo> input_infos(inputs.size()), output_infos(node.outputs.size());
  std::vector<const ValueInfo*> info_pointers;
  std::vector<const Tensor*> tensor_pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bool present = !inputs[i].empty();
    input_infos[i] = {inputs[i].dtype(), inputs[i].shape(), &inputs[i]};
    info_pointers.push_back(present ? &input_infos[i] : nullptr);
    tensor_pointers.push_back(present ? &inputs[i] : nullptr);
  }
  infer_node(graph, node, info_pointers, output_infos);
  std::vector<Tensor> results;
  for (const ValueInfo& info : output_infos) results.emplace_back(info.dtype, info.shape);
  const Implementation* reference = ref::find(op);
  check(reference != nullptr, "the op has a reference kernel");
  ThreadPool pool(threads);
  reference->run({node, tensor_pointers, results, pool});
  return results;
}

inline Tensor run_node(const std::string& op, const std::vector<Tensor>& inputs, Attrs attrs = {},
                       int threads = 1) {
  return run_node_multi(op, inputs, std::move(attrs), 1, threads)[0];
}

// The shape that the op table infers from declared inputs, of which no elements are known.
inline Shape infer_shape(const std::string& op, const std::vector<ValueInfo>& inputs, Attrs attrs = {}) {
  Graph graph;
  Node node{.op = op, .inputs = {}, .outputs = {}, .attrs = std::move(attrs)};
  std::vector<const ValueInfo*> pointers;
  for (const ValueInfo& input : inputs) {
    node.inputs.push_back(graph.add_value("in" + std::to_string(graph.values.size())));
    pointers.push_back(&input);
  }
  node.outputs = {graph.add_value("out")};
  std::vector<ValueInfo> outputs(1);
  infer_node(graph, node, pointers, outputs);
  return outputs[0].shape;
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

// The text of the Error that `call` throws; "" when it throws none.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using Ints = std::vector<std::int64_t>;  // for Attrs: {"strides", Ints{2, 2}}

}  // namespace octet::testing
