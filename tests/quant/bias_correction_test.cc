#include "quant/bias_correction.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using namespace octet::testing;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ShiftEstimate, MeansAreOfEachSampleAndChannel) {
  Tensor image = Tensor::of<float>({2, 2, 1, 2}, {1, 3, 5, 5, 0, 0, -1, 3});
  EXPECT_THAT(ShiftEstimate::means_of(image), ElementsAre(ElementsAre(2, 5), ElementsAre(0, 1)));
  Tensor rows = Tensor::of<float>({1, 2, 3}, {1, 2, 3, 3, 2, 1});
  EXPECT_THAT(ShiftEstimate::means_of(rows), ElementsAre(ElementsAre(2, 2, 2)));
}

TEST(ShiftEstimate, WhatDiffersFromSampleToSampleCountsLess) {
  ShiftEstimate shift;
  for (double noise : {-1.0, 1.0, -1.0, 1.0}) shift.add({{1.0, 0.5 + noise, noise}}, {{0.0, 0.0, 0.0}});
  std::vector<double> found = shift.result();
  EXPECT_DOUBLE_EQ(found[0], 1);  // always the same: taken as it is
  EXPECT_LT(found[1], 0.5);
  EXPECT_EQ(found[2], 0);  // nothing but noise
}

// One layer whose weights are all rounded down: each output is short by half a step for each input.
TEST(BiasCorrection, TakesBackTheShiftOfALayer) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2, 2, 2});
  ValueId y = b.conv2d(x, b.constant("w", Tensor::of<float>({2, 2, 1, 1}, {1, 0.5f, 1, 0.25f})));
  Graph graph = b.build({y});
  Decisions decisions;
  decisions.points = find_insertion_points(graph, {});
  decisions.activations[x] = Quantization::of_abs_max(1, 8);
  ValueId w = graph.find_value("w");
  decisions.weights[w] = quantize_weight(graph.value(w).constant, 0, 3);  // 3 levels: 1.5 becomes 2, 0.75 1
  CalibrationSample sample = {{Tensor::of<float>({1, 2, 2, 2}, std::vector<float>(8, 1.0f))},
                              {Tensor::of<float>({1, 2, 2, 2}, std::vector<float>(8, 1.0f))}};
  ThreadPool pool(1);
  auto found = find_corrections(graph, decisions, sample, pool, [](std::int64_t, std::int64_t) {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.at(y), ElementsAre(DoubleNear(1.5 - 5.0 / 3, 1e-6), DoubleNear(1.25 - 4.0 / 3, 1e-6)));
  decisions.corrections = found;
  Graph quantized = quantized_graph(graph, decisions);
  std::vector<float> corrected = values<float>(run_graph(quantized, sample[0])[0]);
  EXPECT_NEAR(corrected[0], 1.5f, 1e-6f);
  EXPECT_NEAR(corrected[4], 1.25f, 1e-6f);
}

TEST(BiasCorrection, GoesIntoTheBiasThatIsThere) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2, 2, 2});
  ValueId y = b.conv2d(x, b.constant("w", ramp({2, 2, 1, 1}, 2)));
  Graph graph = b.build({b.add(y, b.constant("bias", Tensor::of<float>({2}, {1, 2})), 1)});
  Decisions decisions;
  decisions.points = find_insertion_points(graph, {});
  decisions.corrections[y] = {0.5, -0.25};
  Graph found = quantized_graph(graph, decisions);
  EXPECT_EQ(found.nodes.size(), graph.nodes.size());
  EXPECT_THAT(values<float>(found.value(found.find_value("bias")).constant), ElementsAre(1.5f, 1.75f));

  decisions.points = {};
  Builder plain;
  x = plain.input("x", {kUnknown, 2, 2, 2});
  y = plain.conv2d(x, plain.constant("w", ramp({2, 2, 1, 1}, 2)));
  graph = plain.build({y});
  decisions.corrections = {{y, {0.5, -0.25}}};
  found = quantized_graph(graph, decisions);
  ASSERT_EQ(found.nodes.size(), 2u) << "an addition behind it";
  EXPECT_EQ(found.nodes[1].outputs[0], y);
}

TEST(WeightCorrection, MovesMeanAndDeviation) {
  Tensor weight = ramp({3, 50}, 5);
  QuantizedWeight plain = quantize_weight(weight, 0, 3), corrected = plain;
  corrected.integers = plain.integers.clone();
  correct_weight_statistics(weight, &corrected);
  auto distance = [&](const QuantizedWeight& q) {
    Tensor back = dequantize_weight(q);
    double total = 0;
    for_channels(weight.shape(), 0, [&](std::size_t, std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i)
        sum += static_cast<double>(weight.data<float>()[i]) - static_cast<double>(back.data<float>()[i]);
      total += std::abs(sum);
    });
    return total;
  };
  EXPECT_LT(distance(corrected), distance(plain) + 1e-9);
}

}  // namespace
}  // namespace octet::quant
