#include "quant/insert.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

// Which nodes, names and scales insertion brings.
namespace octet::quant {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;

struct Case {
  Graph graph;
  InsertionPoints points;
  std::map<ValueId, Quantization> activations;
  std::map<ValueId, QuantizedWeight> weights;

  Graph inserted(bool onnx_format = true) const {
    Graph result = graph;
    insert_quantization(result, points, activations, weights, onnx_format);
    infer_shapes(result);
    verify(result);
    return result;
  }
};

// Every point has the threshold 2; weights have 8 bits, along `axis` if it is not negative.
Case case_of(Graph graph, std::int64_t axis = 0) {
  Case result{std::move(graph), {}, {}, {}};
  result.points = find_insertion_points(result.graph, {});
  for (ValueId id : result.points.tensors(result.graph))
    result.activations[id] = Quantization::of_abs_max(2, 8);
  for (const Layer& layer : result.points.layers) {
    ValueId id = node_of(result.graph, layer).inputs[1];
    result.weights[id] = quantize_weight(result.graph.value(id).constant, axis < 0 ? -1 : layer.axis, 8);
  }
  return result;
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes) result.push_back(node.op);
  return result;
}

const Value& named(const Graph& graph, const std::string& name) {
  ValueId id = graph.find_value(name);
  EXPECT_NE(id, kNoValue) << name;
  return graph.value(id);
}

Graph one_conv() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 4, 4});
  ValueId y = b.conv2d(x, b.constant("w", ramp({2, 3, 1, 1}, 3)));
  b.rename(y, "y");
  return b.build({y});
}

TEST(Insert, AConvolutionReadsDequantizedTensors) {
  Case c = case_of(one_conv());
  Graph found = c.inserted();
  EXPECT_THAT(ops(found), ElementsAre("quantize", "dequantize", "dequantize", "conv2d"));
  const Node& conv = found.nodes[3];
  EXPECT_EQ(found.value(conv.inputs[0]).name, "x.quantized.dequantized");
  EXPECT_EQ(found.value(conv.inputs[1]).name, "w.quantized.dequantized");
  EXPECT_EQ(found.value(conv.outputs[0]).name, "y");
  EXPECT_THAT(values<float>(named(found, "x@scale").constant), ElementsAre(2));
  EXPECT_EQ(named(found, "w").dtype, DType::kInt8);
  EXPECT_EQ(values<std::int8_t>(named(found, "w").constant),
            values<std::int8_t>(c.weights.begin()->second.integers));
  EXPECT_EQ(named(found, "w@scale").shape, Shape{2});
  EXPECT_EQ(named(found, "w.quantized.dequantized@zero_point").shape, Shape{2});
  EXPECT_EQ(attr<std::string>(found.nodes[0], "rounding"), "even");
}

TEST(Insert, ATensorIsQuantizedOnceForAllWhoReadIt) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 4, 4});
  ValueId w = b.constant("w", ramp({4, 4, 1, 1}, 3));
  Case c = case_of(b.build({b.conv2d(x, w), b.conv2d(x, w, {.strides = {2, 2}})}));
  EXPECT_THAT(ops(c.inserted()), ElementsAre("quantize", "dequantize", "dequantize", "conv2d", "conv2d"));
  Graph older = c.inserted(false);
  EXPECT_THAT(ops(older), ElementsAre("quantize", "conv2d", "dequantize_sum", "conv2d", "dequantize_sum"));
}

TEST(Insert, AWeightThatIsAlsoReadAsFloatStaysBesideItsIntegers) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4});
  ValueId w = b.constant("w", ramp({4, 4}, 3));
  Graph found = case_of(b.build({b.matmul(x, w), b.relu(w)})).inserted();
  EXPECT_EQ(named(found, "w").dtype, DType::kFloat32);
  EXPECT_EQ(named(found, "w.int8").dtype, DType::kInt8);
}

TEST(Insert, TheOlderGenerationBringsSumsBack) {
  Case c = case_of(one_conv());
  Graph found = c.inserted(false);
  ASSERT_THAT(ops(found), ElementsAre("quantize", "conv2d", "dequantize_sum"));
  EXPECT_EQ(attr<std::string>(found.nodes[0], "rounding"), "away");
  EXPECT_EQ(named(found, "w").dtype, DType::kFloat32) << "integers held as floats";
  EXPECT_EQ(found.value(found.nodes[1].outputs[0]).name, "y.sum");
  EXPECT_EQ(found.value(found.nodes[2].outputs[0]).name, "y");

  Graph one_scale = case_of(one_conv(), -1).inserted(false);
  ASSERT_THAT(ops(one_scale), ElementsAre("quantize", "conv2d", "dequantize_range"));
  const double abs_max =
      static_cast<double>(case_of(one_conv(), -1).weights.begin()->second.quantization.abs_max());
  EXPECT_DOUBLE_EQ(attr<double>(one_scale.nodes[2], "range"), 127 * 127 / abs_max);
}

TEST(Insert, OtherOpsReadFakeQuantInTheOlderGeneration) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3});
  ValueId y = b.relu(x);
  Case c = case_of(b.build({b.mul(x, y)}));
  c.points.inputs = {{1, 0}};
  c.activations = {{x, Quantization::of_abs_max(2, 8)}};
  EXPECT_THAT(ops(c.inserted()), ElementsAre("relu", "quantize", "dequantize", "mul"));
  EXPECT_THAT(ops(c.inserted(false)), ElementsAre("relu", "fake_quant", "mul"));
}

TEST(Insert, WhatHasNoThresholdOrNoIntegersStaysInFloat) {
  Case c = case_of(one_conv());
  c.activations.clear();
  EXPECT_THAT(ops(c.inserted()), ElementsAre("conv2d"));
  c = case_of(one_conv());
  c.weights.clear();
  EXPECT_THAT(ops(c.inserted()), ElementsAre("quantize", "dequantize", "conv2d"));
}

TEST(Insert, BitsAreOfTheTensor) {
  Case c = case_of(one_conv());
  c.activations[c.graph.inputs[0]] = Quantization::of_abs_max(2, 4);
  Graph found = c.inserted();
  EXPECT_EQ(attr<int>(found.nodes[0], "bits"), 4);
  EXPECT_EQ(attr<int>(found.nodes[1], "bits"), 4);
  EXPECT_EQ(attr<int>(found.nodes[2], "bits"), 8) << "of the weight";
}

}  // namespace
}  // namespace octet::quant
