#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "passes/passes.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet {
namespace {

using namespace octet::testing;

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.op == op;
  return n;
}

void lower(Graph& graph) {
  to_qdq_form(graph);
  lower_to_integer(graph);
  fuse_bias(graph);
  remove_dead_nodes(graph);
}

Tensor integers_as_floats(Shape shape) {
  Tensor tensor = ramp(std::move(shape));
  for (float& value : tensor.mutable_data<float>()) value = std::rint(value * 127);
  return tensor;
}

// The older generation: integers held as floats, sums dequantized behind the layer, one activation for two
// layers.
Graph old_generation(bool per_channel, Tensor weight = integers_as_floats({4, 3, 3, 3})) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 6, 6});
  ValueId scale = b.constant("x@scale", Tensor::of<float>({1}, {0.9f}));
  ValueId q = b.op("quantize", {x, scale}, {{"rounding", "away"}, {"dtype", "float32"}});
  ValueId w = b.constant("w", std::move(weight));
  ValueId channel_scale = b.constant("w@scale", Tensor::of<float>({4}, {0.5f, 1.0f, 1.5f, 0.25f}));
  std::vector<ValueId> sums;
  for (int stride : {1, 2}) {
    ValueId sum = b.conv2d(q, w, {.strides = {stride, stride}, .paddings = {1, 1, 1, 1}});
    ValueId y = per_channel ? b.op("dequantize_sum", {sum, channel_scale, scale})
                            : b.op("dequantize_range", {sum, scale}, {{"range", 127.0 * 127.0 / 0.75}});
    sums.push_back(b.relu(b.add(y, b.constant("bias" + std::to_string(stride), ramp({4}, 7)), 1)));
  }
  return b.build(sums);
}

// The newer generation: quantize, dequantize, layer; int8 weights.
Graph new_generation() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 8});
  ValueId scale = b.constant("x@scale", Tensor::of<float>({1}, {0.8f}));
  ValueId q = b.op("quantize", {x, scale}, {{"dtype", "float32"}});
  ValueId dq = b.op("dequantize", {q, scale});
  Tensor weight = integers_as_floats({8, 5}).cast(DType::kInt8);
  ValueId w = b.op("dequantize", {b.constant("w", weight), b.constant("w@scale", ramp({1, 5}, 3))},
                   {{"axis", std::int64_t{1}}});
  return b.build({b.add(b.matmul(dq, w), b.constant("bias", ramp({5}, 4)))});
}

void expect_same(const Graph& before, const Graph& after, const Tensor& x) {
  std::vector<Tensor> expected = run_graph(before, {x}), found = run_graph(after, {x});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    std::vector<float> a = values<float>(expected[i]), b = values<float>(found[i]);
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 2e-5f) << i << " " << j;
  }
}

TEST(ToQdqForm, BringsTheOlderGenerationIntoTheNewerOnesForm) {
  for (bool per_channel : {true, false}) {
    Graph before = old_generation(per_channel), after = before;
    to_qdq_form(after);
    verify(after);
    EXPECT_EQ(count(after, "dequantize_sum") + count(after, "dequantize_range"), 0);
    EXPECT_EQ(count(after, "dequantize"), 4);
    for (const Node& node : after.nodes)
      if (node.op == "quantize") {
        EXPECT_EQ(attr<std::string>(node, "dtype"), "int8");
      }
    expect_same(before, after, ramp({2, 3, 6, 6}, 5));
  }
}

TEST(ToQdqForm, LeavesWeightsThatAreNoIntegers) {
  Tensor fractions = integers_as_floats({4, 3, 3, 3});
  fractions.mutable_data<float>()[5] += 0.25f;  // as AdaRound leaves them in Paddle's files
  Graph before = old_generation(true, fractions), after = before;
  to_qdq_form(after);
  EXPECT_EQ(count(after, "dequantize_sum"), 2);
  expect_same(before, after, ramp({1, 3, 6, 6}, 5));
}

TEST(ToQdqForm, LeavesIntegersThatSomeoneElseReads) {
  Graph before = new_generation();
  before.outputs.push_back(before.nodes[0].outputs[0]);
  Graph after = before;
  lower(after);
  EXPECT_EQ(attr<std::string>(after.nodes[0], "dtype"), "float32");
  expect_same(before, after, ramp({3, 8}, 5));
}

TEST(ToQdqForm, SplitsFakeQuant) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 16});
  ValueId scale = b.constant("scale", Tensor::of<float>({1}, {0.5f}));
  Graph before = b.build({b.relu(b.op("fake_quant", {x, scale}, {{"rounding", "away"}}))}), after = before;
  to_qdq_form(after);
  EXPECT_EQ(count(after, "fake_quant"), 0);
  EXPECT_EQ(count(after, "quantize"), 1);
  EXPECT_EQ(values<float>(run_graph(before, {ramp({1, 16})})[0]),
            values<float>(run_graph(after, {ramp({1, 16})})[0]));
}

TEST(LowerToInteger, RunsLayersInIntegersWithTheirBias) {
  for (bool per_channel : {true, false}) {
    Graph before = old_generation(per_channel), after = before;
    lower(after);
    verify(after);
    EXPECT_EQ(count(after, "qconv2d"), 2);
    EXPECT_EQ(count(after, "conv2d") + count(after, "add") + count(after, "dequantize"), 0);
    expect_same(before, after, ramp({2, 3, 6, 6}, 5));
  }
  Graph before = new_generation(), after = before;
  lower(after);
  EXPECT_EQ(count(after, "qmatmul"), 1);
  EXPECT_EQ(count(after, "add"), 0);
  expect_same(before, after, ramp({3, 8}, 5));
}

TEST(LowerToInteger, ABiasAlongTheWidthIsNoBias) {
  Builder b;
  ValueId x = b.input("x", {1, 3, 4, 4});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {1.0f}));
  ValueId dq = b.op("dequantize", {b.op("quantize", {x, scale}), scale});
  ValueId w =
      b.op("dequantize", {b.constant("w", integers_as_floats({4, 3, 1, 1}).cast(DType::kInt8)), scale});
  Graph before = b.build({b.add(b.conv2d(dq, w), b.constant("row", ramp({4}, 8)))}), after = before;
  lower(after);
  EXPECT_EQ(count(after, "qconv2d"), 1);
  EXPECT_EQ(count(after, "add"), 1);
  expect_same(before, after, ramp({1, 3, 4, 4}, 5));
}

TEST(FuseResidual, IntegerLayersAddIntegers) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 6, 6});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {1.0f}));
  ValueId dq = b.op("dequantize", {b.op("quantize", {x, scale}), scale});
  ValueId w =
      b.op("dequantize", {b.constant("w", integers_as_floats({4, 4, 1, 1}).cast(DType::kInt8)), scale});
  Graph before = b.build({b.relu(b.add(b.conv2d(dq, w), dq))}), after = before;
  lower(after);
  fuse_residual(after);
  remove_dead_nodes(after);
  EXPECT_EQ(count(after, "dequantize") + count(after, "add"), 0);
  EXPECT_EQ(after.value(after.nodes[1].inputs[5]).dtype, DType::kInt8);
  expect_same(before, after, ramp({2, 4, 6, 6}, 5));
}

TEST(FuseResidual, AnEarlierLayerWaitsForTheIntegersOfALaterOne) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 6, 6});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {1.0f}));
  auto quantized = [&](ValueId value) {
    return b.op("dequantize", {b.op("quantize", {value, scale}), scale});
  };
  auto conv = [&](ValueId value, const char* name) {
    Tensor weights = integers_as_floats({4, 4, 1, 1}).cast(DType::kInt8);
    return b.conv2d(value, b.op("dequantize", {b.constant(name, weights), scale}));
  };
  ValueId dq = quantized(x), main = conv(dq, "w"), shortcut = quantized(conv(dq, "v"));
  Graph before = b.build({b.relu(b.add(main, shortcut))}), after = before;
  lower(after);
  fuse_residual(after);
  remove_dead_nodes(after);
  verify(after);
  EXPECT_EQ(count(after, "dequantize") + count(after, "add"), 0);
  expect_same(before, after, ramp({2, 4, 6, 6}, 5));
}

// Activations of Paddle 3's int8 files.
TEST(ToQdqForm, DequantizingByARangeBehindACastIsDequantizing) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 6, 6});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {0.9f}));
  ValueId q = b.op("quantize", {x, scale}, {{"dtype", "float32"}});
  ValueId dq =
      b.op("dequantize_range", {b.op("cast", {q}, {{"dtype", "float32"}}), scale}, {{"range", 127.0}});
  ValueId weight = b.constant("w", integers_as_floats({4, 3, 1, 1}).cast(DType::kInt8));
  Graph before = b.build({b.conv2d(dq, b.op("dequantize", {weight, scale}))}), after = before;
  lower(after);
  verify(after);
  EXPECT_EQ(count(after, "qconv2d"), 1);
  EXPECT_EQ(count(after, "cast") + count(after, "dequantize_range"), 0);
  expect_same(before, after, ramp({2, 3, 6, 6}, 5));
}

TEST(RemoveDeadNodes, DropsWhatNobodyReads) {
  Builder b;
  ValueId x = b.input("x", {4});
  ValueId y = b.relu(x);
  b.add(b.sigmoid(x), b.constant("big", ramp({4})));
  Graph graph = b.build({y});
  remove_dead_nodes(graph);
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_FALSE(graph.value(graph.find_value("big")).is_constant());
}

}  // namespace
}  // namespace octet
