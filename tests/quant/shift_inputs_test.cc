#include "quant/shift_inputs.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "metrics/compare.h"
#include "quant/bias_correction.h"
#include "quant/runners.h"
#include "quant/sensitivity.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using octet::testing::ramp;
using octet::testing::run_graph;
using ::testing::IsEmpty;

ValueId activated(Builder& b, bool six) {
  const ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  const ValueId sum =
      b.add(b.conv2d(x, b.constant("first", ramp({6, 3, 1, 1}, 5))), b.constant("bias", ramp({6}, 3)), 1);
  return six ? b.op("relu6", {sum}) : b.relu(sum);
}

ValueId last(Builder& b, ValueId x) {
  return b.conv2d(x, b.constant("last", ramp({4, 6, 1, 1}, 9)));
}

Graph behind_a_relu(bool six = false) {
  Builder b;
  return b.build({last(b, activated(b, six))});
}

Tensor picture() {
  return ramp({2, 3, 8, 8}, 4);
}

// The decisions that ptq would make of the picture, with every threshold the largest magnitude.
Decisions decide(Graph& graph, bool shifts, bool clips_symmetrically = false, int bits = 8) {
  ThreadPool pool(1);
  Decisions decisions;
  decisions.bits = bits;
  decisions.points = find_insertion_points(graph, {});
  const std::set<ValueId> tensors = decisions.points.tensors(graph);
  const Calibration seen = calibrate(
      graph, tensors,
      [](std::int64_t i, std::vector<Tensor>* inputs) {
        *inputs = {picture()};
        return i == 0;
      },
      {}, *alone(), pool);
  std::map<ValueId, Choice> choices;
  for (ValueId id : tensors) choices[id] = {"abs_max", seen.tensors.at(graph.value(id).name).abs_max};
  std::vector<ValueId> changed;
  if (shifts) {
    decisions.shifts = shift_inputs(graph, decisions.points, seen, bits, clips_symmetrically, &changed);
    decisions.points = find_insertion_points(graph, {});
    EXPECT_EQ(changed.size(), 2 * decisions.shifts.size());
    for (const auto& [id, shift] : decisions.shifts) choices[id] = {"shifted", shift.threshold};
  }
  for (const Layer& layer : decisions.points.layers) {
    const ValueId weight = weights_of(node_of(graph, layer));
    decisions.weights.emplace(weight, quantize_weight(graph.value(weight).constant, layer.axis, 8));
  }
  decisions.use(choices);
  return decisions;
}

double sqnr(const Tensor& expected, const Tensor& found) {
  Comparer comparer;
  comparer.add(expected.data<float>(), found.data<float>());
  return comparer.result().sqnr_db;
}

bool has_op(const Graph& graph, std::string_view op) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return node.op == op; });
}

// With 5 bits of activations their noise is what counts.
double gain_in_decibels(const Graph& graph, bool clips_symmetrically) {
  const Tensor expected = run_graph(graph, {picture()})[0];
  Graph plain = graph, shifted = graph;
  const Decisions before = decide(plain, false, false, 5);
  const Decisions after = decide(shifted, true, clips_symmetrically, 5);
  EXPECT_EQ(after.shifts.size(), 1u);
  EXPECT_GT(sqnr(expected, run_graph(shifted, {picture()})[0]), 100) << "the function is the same";
  const Graph a = quantized_graph(plain, before, !clips_symmetrically),
              b = quantized_graph(shifted, after, !clips_symmetrically);
  EXPECT_TRUE(has_op(a, "relu"));
  EXPECT_FALSE(has_op(b, "relu")) << "quantization clips there";
  EXPECT_EQ(b.nodes.size(), a.nodes.size()) << "a bias behind the layer in place of the ReLU";
  return sqnr(expected, run_graph(b, {picture()})[0]) - sqnr(expected, run_graph(a, {picture()})[0]);
}

TEST(ShiftInputs, TheIntegersOfAReluAreOfBothSigns) {
  EXPECT_GT(gain_in_decibels(behind_a_relu(), false), 2);
}

TEST(ShiftInputs, InFilesOfTheOlderGenerationToo) {
  EXPECT_GT(gain_in_decibels(behind_a_relu(), true), 2);
}

TEST(ShiftInputs, ZeroIsTheLowestInteger) {
  for (bool symmetric : {false, true}) {
    Graph graph = behind_a_relu(true);
    const Decisions decisions = decide(graph, true, symmetric);
    ASSERT_EQ(decisions.shifts.size(), 1u);
    const InputShift& shift = decisions.shifts.begin()->second;
    const float step = shift.threshold / 127;
    EXPECT_NEAR(shift.centre / step, symmetric ? 127 : 128, 1e-3);
    EXPECT_NEAR(static_cast<double>(shift.centre + shift.threshold), shift.top, 1e-5);
  }
}

TEST(ShiftInputs, AreTakenBackWhereTheLayerStaysInFloat) {
  const Graph before = behind_a_relu();
  Graph graph = before;
  Decisions decisions = decide(graph, true);
  const Layer layer = decisions.points.layers.back();
  decisions.points.layers.pop_back();
  decisions.points.inputs.erase({layer.node, 0});
  const Graph quantized = quantized_graph(graph, decisions);
  EXPECT_TRUE(has_op(quantized, "relu"));
  decisions.points = {};  // nothing is quantized at all
  const Graph floats = quantized_graph(graph, decisions);
  EXPECT_GT(sqnr(run_graph(before, {picture()})[0], run_graph(floats, {picture()})[0]), 100);
  for (const Node& node : floats.nodes)
    for (ValueId id : node.inputs)
      EXPECT_FALSE(floats.value(id).name.ends_with(".shift")) << "no op is left of it";
}

TEST(ShiftInputs, NotWhatSomeoneElseReadsNorInFrontOfPadding) {
  for (bool padded : {false, true}) {
    Builder b;
    const ValueId y = activated(b, false);
    const ValueId conv =
        padded ? b.conv2d(y, b.constant("w", ramp({4, 6, 3, 3}, 9)), {.paddings = {1, 1, 1, 1}}) : last(b, y);
    Graph graph = padded ? b.build({conv}) : b.build({conv, b.global_avg_pool(y)});
    EXPECT_THAT(decide(graph, true).shifts, IsEmpty());
  }
}

// A classifier of 600 classes behind an activation that is hardly ever negative.
Graph behind_a_swish(std::int64_t classes = 600, bool activated = true) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  const ValueId large = b.constant("large", Tensor::of<float>({1}, {8}));
  if (activated) x = b.op("swish", {b.mul(x, large)});
  const ValueId flat = b.reshape(x, {-1, 192});
  return b.build({b.matmul(flat, b.constant("classes", ramp({192, classes}, 9)))});
}

TEST(ShiftInputs, OfAProductWithManyOutputsByAnOpOfTheirOwn) {
  const Graph graph = behind_a_swish();
  const Tensor expected = run_graph(graph, {picture()})[0];
  Graph plain = graph, shifted = graph;
  const Decisions before = decide(plain, false, false, 5), after = decide(shifted, true, false, 5);
  ASSERT_EQ(after.shifts.size(), 1u);
  EXPECT_GT(sqnr(expected, run_graph(shifted, {picture()})[0]), 100) << "the function is the same";
  const double gain = sqnr(expected, run_graph(quantized_graph(shifted, after), {picture()})[0]) -
                      sqnr(expected, run_graph(quantized_graph(plain, before), {picture()})[0]);
  EXPECT_GT(gain, 2);
}

TEST(ShiftInputs, ByAnOpOfTheirOwnAreTakenBackToo) {
  const Graph before = behind_a_swish();
  Graph graph = before;
  Decisions decisions = decide(graph, true);
  ASSERT_EQ(decisions.shifts.size(), 1u);
  decisions.points = {};
  const Graph floats = quantized_graph(graph, decisions);
  EXPECT_GT(sqnr(run_graph(before, {picture()})[0], run_graph(floats, {picture()})[0]), 100);
  for (const Node& node : floats.nodes)
    for (ValueId id : node.inputs)
      EXPECT_FALSE(floats.value(id).name.ends_with(".shift")) << "no op is left of it";
}

TEST(ShiftInputs, NotByAnOpWhereThatCostsOrGainsNothing) {
  Graph few = behind_a_swish(100), of_both_signs = behind_a_swish(600, false);
  EXPECT_THAT(decide(few, true).shifts, IsEmpty());
  EXPECT_THAT(decide(of_both_signs, true).shifts, IsEmpty());
}

}  // namespace
}  // namespace octet::quant
