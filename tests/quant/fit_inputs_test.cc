#include "quant/fit_inputs.h"

#include <gmock/gmock.h>

#include <cmath>

#include "graph/builder.h"
#include "metrics/compare.h"
#include "quant/output_error.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using octet::testing::ramp;
using octet::testing::run_graph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kChannels = 6;

// Channels of different reach.
ValueId uneven(Builder& b, ValueId x) {
  Tensor weight = ramp({kChannels, 3, 1, 1}, 5).clone();
  for (std::size_t i = 0; i < 3 * kChannels; ++i)
    weight.mutable_data<float>()[i] *= i / 3 == 0 ? 9.0f : 1.0f + static_cast<float>(i / 3);
  return b.conv2d(x, b.constant("uneven", weight));
}

ValueId affine(Builder& b, ValueId x) {
  ValueId scaled = b.mul(b.constant("s", Tensor::of<float>({1}, {1.5f})), x);
  return b.add(scaled, b.constant("b", Tensor::of<float>({1}, {0.3f})));
}

ValueId last(Builder& b, ValueId x) {
  return b.conv2d(x, b.constant("last", ramp({4, kChannels, 1, 1}, 9)));
}

Graph behind_constants() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = last(b, affine(b, b.hard_swish(uneven(b, x))));
  return b.build({b.relu(b.add(y, b.constant("bias", ramp({4}, 3)), 1))});
}

// The product reads floats: an addition of constants stands between the activation and it.
Graph behind_a_gate() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = affine(b, b.hard_swish(uneven(b, x)));
  ValueId gate = b.hard_sigmoid(
      b.conv2d(b.global_avg_pool(y), b.constant("gate", ramp({kChannels, kChannels, 1, 1}, 7))));
  return b.build({b.relu(last(b, b.mul(y, gate)))});
}

double sqnr(const Tensor& expected, const Tensor& found) {
  Comparer comparer;
  comparer.add(expected.data<float>(), found.data<float>());
  return comparer.result().sqnr_db;
}

// How good the layer called "last" is when it alone is quantized, by the largest magnitude.
double quantized_sqnr(const Graph& graph, const Tensor& x, ThreadPool& pool) {
  const InsertionPoints points = find_insertion_points(graph, {});
  const Layer& layer = points.layers.back();
  const Node& node = node_of(graph, layer);
  TensorRunner runner(graph, {node.inputs[0], node.outputs[0]}, pool);
  runner.run({x});
  const QuantizedWeight weight = quantize_weight(graph.value(weights_of(node)).constant, layer.axis, 8);
  float largest = 0;
  for (float value : runner[node.inputs[0]].data<float>()) largest = std::max(largest, std::fabs(value));
  LayerRunner alone(graph, layer, weight, 8, pool);
  return sqnr(runner[node.outputs[0]], alone.run(runner[node.inputs[0]], largest));
}

void expect_better(const Graph& graph, double decibels) {
  ThreadPool pool(1);
  const Tensor x = ramp({2, 3, 8, 8}, 4);
  Graph fitted = graph;
  const std::vector<ValueId> layers = layers_with_free_inputs(graph, find_insertion_points(graph, {}));
  ASSERT_EQ(layers.size(), 1u);
  std::vector<ValueId> changed;
  fit_inputs(fitted, layers, 8, {{x}}, pool, &changed);
  verify(fitted);
  EXPECT_THAT(changed,
              ::testing::Contains(
                  graph.nodes[static_cast<std::size_t>(find_insertion_points(graph, {}).layers.back().node)]
                      .inputs[0]));
  // The function is the same.
  EXPECT_GT(sqnr(run_graph(graph, {x})[0], run_graph(fitted, {x})[0]), 100);
  EXPECT_GT(quantized_sqnr(fitted, x, pool), quantized_sqnr(graph, x, pool) + decibels);
}

TEST(FitInputs, ConstantsInFrontOfALayerCentreAndScaleItsChannels) {
  expect_better(behind_constants(), 6);
}

TEST(FitInputs, AGateScalesThem) {
  expect_better(behind_a_gate(), 2);
}

TEST(FitInputs, NotWhatSomeoneElseReads) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = affine(b, b.hard_swish(uneven(b, x)));
  Graph graph = b.build({last(b, y), b.relu(y)});
  EXPECT_THAT(layers_with_free_inputs(graph, find_insertion_points(graph, {})), IsEmpty());
}

TEST(FitInputs, NotInFrontOfPadding) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = affine(b, b.hard_swish(uneven(b, x)));
  Graph graph =
      b.build({b.conv2d(y, b.constant("w", ramp({4, kChannels, 3, 3}, 9)), {.paddings = {1, 1, 1, 1}})});
  EXPECT_THAT(layers_with_free_inputs(graph, find_insertion_points(graph, {})), IsEmpty());
}

TEST(ScoreTensors, AreThoseBeforeASoftmaxOrAnArgMax) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId scores = b.conv2d(x, b.constant("w", ramp({4, 3, 1, 1}, 9)));
  ValueId other = b.relu(b.conv2d(x, b.constant("v", ramp({4, 3, 1, 1}, 8))));
  Graph graph = b.build({b.softmax(scores, 1), b.arg_max(scores, 1), other});
  EXPECT_THAT(score_tensors(graph), ElementsAre(scores, other));
}

}  // namespace
}  // namespace octet::quant
