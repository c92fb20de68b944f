#include <gmock/gmock.h>

#include <cmath>

#include "graph/builder.h"
#include "octet/quantize.h"
#include "quant/held_out.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

// What a quantization is judged on, and what it says of a network that suffers.
namespace octet {
namespace {

using testing::ramp;

Model model_of(Graph graph) {
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

// Batches of one number each: batch i has `pictures` of value i + 1, and the last picture of each `last`.
BatchGenerator numbers(int batches, std::int64_t pictures, float last) {
  return [=](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= batches) return false;
    std::vector<float> values(static_cast<std::size_t>(pictures * 2), static_cast<float>(i + 1));
    values[values.size() - 1] = last;
    inputs = {{{pictures, 2}, std::move(values)}};
    return true;
  };
}

Graph product() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2});
  return b.build({b.matmul(x, b.constant("w", Tensor::of<float>({2, 2}, {1, 0.5f, -0.25f, 2})), {})});
}

QuantizeReport report_of(const BatchGenerator& batches, QuantizeOptions options) {
  QuantizeReport report;
  options.algo = "abs_max";
  quantize(model_of(product()), batches, options, &report);
  return report;
}

TEST(JudgedOn, OthersIfThereAreAny) {
  const QuantizeReport report = report_of(numbers(5, 4, 1), {.batch_num = 3});
  EXPECT_EQ(report.judged_on, JudgedOn::kOthers);
  EXPECT_EQ(report.samples, 12);
  EXPECT_EQ(report.judged_samples, 8);
  EXPECT_FLOAT_EQ(static_cast<float>(report.layers.at(0).threshold), 3);  // 4 and 5 were not seen
}

TEST(JudgedOn, AFifthThatIsHeldOutBeforeAnyDecision) {
  const QuantizeReport report = report_of(numbers(2, 10, 100), {.batch_num = 2});
  EXPECT_EQ(report.judged_on, JudgedOn::kHeldOut);
  EXPECT_EQ(report.samples, 16);
  EXPECT_EQ(report.judged_samples, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(report.layers.at(0).threshold), 2);  // not 100
}

TEST(JudgedOn, TheCalibrationDataWithTwoPasses) {
  const QuantizeReport report = report_of(numbers(2, 10, 100), {.two_pass = true, .batch_num = 2});
  EXPECT_EQ(report.judged_on, JudgedOn::kCalibration);
  EXPECT_EQ(report.samples, 20);
  EXPECT_FLOAT_EQ(static_cast<float>(report.layers.at(0).threshold), 100);
}

TEST(JudgedOn, SinglePicturesToo) {
  const QuantizeReport report = report_of(numbers(10, 1, 1), {.batch_num = 0});
  EXPECT_EQ(report.judged_on, JudgedOn::kHeldOut);
  EXPECT_EQ(report.samples, 8);
  EXPECT_EQ(report.judged_samples, 2);
}

TEST(JudgedOn, IsKeptWithTheStatistics) {
  const TempDir dir;
  QuantizeOptions options{.batch_num = 2, .save_stats = (dir / "stats").string(), .preprocessing = "as is"};
  const QuantizeReport before = report_of(numbers(2, 10, 100), options);
  const QuantizeReport after = report_of({}, {.load_stats = (dir / "stats").string()});
  EXPECT_EQ(after.judged_on, JudgedOn::kHeldOut);
  EXPECT_EQ(after.judged_samples, before.judged_samples);
  EXPECT_EQ(after.outputs.at(0).sqnr_db, before.outputs.at(0).sqnr_db);
  EXPECT_EQ(after.preprocessing, "as is");
}

Tensor weights(Shape shape, std::uint32_t seed) {
  Tensor result = ramp(std::move(shape), seed).clone();
  for (float& w : result.mutable_data<float>()) w *= 0.4f;
  return result;
}

// Three convolutions; between the first two one channel is scaled by `factor`, which the second undoes.
Graph planted(float factor, bool bounded) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  Tensor first = weights({8, 3, 3, 3}, 1), second = weights({8, 8, 3, 3}, 2);
  for (std::int64_t i = 0; i < 27; ++i)
    first.mutable_data<float>()[static_cast<std::size_t>(5 * 27 + i)] *= factor;
  for (std::int64_t o = 0; o < 8; ++o)
    for (std::int64_t i = 0; i < 9; ++i)
      second.mutable_data<float>()[static_cast<std::size_t>((o * 8 + 5) * 9 + i)] /= factor;
  const auto conv = [&](ValueId v, const char* name, Tensor w) {
    return b.conv2d(v, b.constant(name, std::move(w)), {.paddings = {1, 1, 1, 1}});
  };
  ValueId y = conv(x, "first", std::move(first));
  y = bounded ? b.hard_swish(y) : b.relu(y);
  y = b.relu(conv(y, "second", std::move(second)));
  return b.build({conv(y, "third", weights({4, 8, 3, 3}, 3))});
}

BatchGenerator pictures() {
  return [](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= 6) return false;
    const Tensor x = ramp({8, 3, 8, 8}, static_cast<std::uint32_t>(i) + 10);
    inputs = {{x.shape(), {x.data<float>().begin(), x.data<float>().end()}}};
    return true;
  };
}

QuantizeReport quantized(Graph graph) {
  QuantizeReport report;
  quantize(model_of(std::move(graph)), pictures(), {.float_share = 0, .batch_num = 4}, &report);
  return report;
}

TEST(PlantedFault, IsUndoneByEqualization) {
  const QuantizeReport healthy = quantized(planted(1, false)), ruined = quantized(planted(1000, false));
  EXPECT_EQ(healthy.equalized, 0);
  EXPECT_EQ(ruined.equalized, 1);
  EXPECT_GT(healthy.outputs.at(0).sqnr_db, 25);
  EXPECT_GT(ruined.outputs.at(0).sqnr_db, healthy.outputs.at(0).sqnr_db - 3);
}

TEST(PlantedFault, WhereItCanNotBeUndoneTheLayerIsTheWorstByItsOwnError) {
  const QuantizeReport report = quantized(planted(1000, true));
  EXPECT_EQ(report.equalized, 0);
  EXPECT_LT(report.outputs.at(0).sqnr_db, 10);
  const auto worst = std::ranges::min_element(report.layers, {}, &LayerQuality::own_sqnr_db);
  EXPECT_EQ(worst - report.layers.begin(), 1);
  EXPECT_GT(worst->channel_spread, 100);
  EXPECT_LT(worst->own_sqnr_db + 15, report.layers.at(2).own_sqnr_db);
}

}  // namespace
}  // namespace octet
