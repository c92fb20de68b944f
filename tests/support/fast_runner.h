#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "graph/activation.h"
#include "runtime/executor.h"
#include "support/graph_runner.h"

// Runs a node with the reference kernels and with every instruction set that this CPU has, through the
// executor, so that layouts, packed weights and scratch memory take part. A test says by its name which
// kernel it is about: one that declines a node would otherwise be "ref", compared with itself.
namespace octet::testing {

// Like one_node(), with the inputs `constants` (by their number) as constants of the graph, as weights are.
inline Graph node_with_constants(const std::string& op, const std::vector<Tensor>& inputs, Attrs attrs,
                                 const std::vector<std::size_t>& constants, int outputs = 1) {
  Graph graph = one_node(op, inputs, std::move(attrs), outputs);
  std::vector<ValueId> free;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ValueId id = graph.nodes[0].inputs[i];
    if (id == kNoValue) continue;
    if (std::find(constants.begin(), constants.end(), i) != constants.end())
      graph.value(id).constant = inputs[i];
    else
      free.push_back(id);
  }
  graph.inputs = free;
  infer_shapes(graph);
  return graph;
}

inline std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs,
                                     const std::string& isa, int threads, bool ir_optim = false) {
  ThreadPool pool(threads);
  return execute(prepare(graph, {ir_optim, isa}), inputs, pool);
}

// "" for none, and every activation function that an epilogue can have.
inline std::vector<std::string> activation_names() {
  std::vector<std::string> names = {""};
  for (const ActivationFunction& function : activation_table()) names.emplace_back(function.name);
  return names;
}

// 0: the same bits. Otherwise |a - b| <= tolerance * (largest |b|).
inline void expect_close(const Tensor& found, const Tensor& expected, double tolerance) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  if (tolerance == 0 || expected.dtype() != DType::kFloat32) {
    auto a = found.bytes(), b = expected.bytes();
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(a[i], b[i]) << "byte " << i << ", element " << i / size_of(found.dtype());
    return;
  }
  double largest = 0;
  for (float value : expected.data<float>()) largest = std::max<double>(largest, std::fabs(value));
  for (std::size_t i = 0; i < expected.data<float>().size(); ++i)
    ASSERT_NEAR(found.data<float>()[i], expected.data<float>()[i], tolerance * largest) << "element " << i;
}

// The nodes of this op run with this kernel; "ref" where a test means that the fast ones decline.
inline void expect_kernel(const Graph& graph, const std::string& op, const std::string& kernel,
                          const std::string& isa) {
  std::shared_ptr<const Executable> executable = prepare(graph, {false, isa});
  bool found = false;
  for (std::size_t i = 0; i < executable->steps.size(); ++i) {
    if (executable->graph.nodes[i].op != op) continue;
    const Implementation* implementation = executable->steps[i].implementation;
    ASSERT_NE(implementation, nullptr) << executable->steps[i].why_not;
    ASSERT_EQ(implementation->name, kernel) << "this kernel runs " << op;
    found = true;
  }
  ASSERT_TRUE(found) << op << " has been removed from the graph";
}

// On every available instruction set `op` runs with `kernel`, and with 1, 2 and 3 threads the graph gives
// what the reference gives.
inline void expect_graph_as_reference(const Graph& graph, const std::string& op, const std::string& kernel,
                                      const std::vector<Tensor>& given, double tolerance = 0) {
  std::vector<Tensor> expected = run_graph(graph, given, "ref", 1);
  for (const Isa& isa : isa_list()) {
    if (!isa.simd) continue;
    expect_kernel(graph, op, kernel, std::string(isa.name));
    if (::testing::Test::HasFatalFailure()) return;
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << isa.name << ", " << threads << " threads\n" << dump(graph));
      std::vector<Tensor> found = run_graph(graph, given, std::string(isa.name), threads);
      for (std::size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i], tolerance);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// The same for a node; the inputs `constants` are constants of the graph.
inline void expect_as_reference(const std::string& op, const std::string& kernel,
                                const std::vector<Tensor>& inputs, Attrs attrs,
                                const std::vector<std::size_t>& constants, double tolerance = 0,
                                int outputs = 1) {
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].empty() && std::find(constants.begin(), constants.end(), i) == constants.end())
      given.push_back(inputs[i]);
  expect_graph_as_reference(node_with_constants(op, inputs, std::move(attrs), constants, outputs), op, kernel,
                            given, tolerance);
}

}  // namespace octet::testing
