#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/quantizer.h"
#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::random_floats;
using testing::run_node;
using testing::run_node_multi;
using testing::values;

const std::string kAway = "away", kStep = "step", kFloat = "float32";

Tensor floats(const std::vector<float>& numbers) {
  return Tensor::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers);
}

TEST(RoundAway, IsStdRound) {
  for (std::uint32_t bits = 0; bits < 0x4b800000u; bits += 4099) {  // up to 2^24
    float x = std::bit_cast<float>(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(round_away(x)), std::bit_cast<std::uint32_t>(std::round(x))) << x;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(round_away(-x)), std::bit_cast<std::uint32_t>(std::round(-x)))
        << x;
  }
  for (float x : {0.5f, 1.5f, 2.5f, 126.5f, std::nextafter(0.5f, 0.0f), std::nextafter(1.5f, 0.0f)}) {
    EXPECT_EQ(round_away(x), std::round(x)) << x;
    EXPECT_EQ(round_away(-x), std::round(-x)) << x;
  }
}

TEST(Quantize, RoundsHalfToEvenAndClamps) {
  // With abs_max 127 a step is 1.
  Tensor x = floats({0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.5f, 300, -127.6f, -500});
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, floats({127})})),
              ElementsAre(0, 2, 2, 0, -2, 126, 127, -128, -128));
}

TEST(Quantize, OrClipsAndRoundsHalfAway) {
  Tensor x = floats({0.5f, 1.5f, -0.5f, -2.5f, 300, -127.6f, -500});
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, floats({127})}, {{"rounding", kAway}})),
              ElementsAre(1, 2, -1, -3, 127, -127, -127));
}

// Paddle's arithmetic written out: every operation in float.
float paddle_even(float x, float s) {
  volatile float inverse = 1.0f / s;
  volatile float multiplier = 127.0f * inverse;
  volatile float product = multiplier * x;
  return std::fmin(std::fmax(std::rint(product), -128.0f), 127.0f);
}
float paddle_away(float x, float s) {
  volatile float inverse = 1.0f / s;
  volatile float multiplier = 127.0f * inverse;
  volatile float product = multiplier * std::fmin(std::fmax(x, -s), s);
  return std::round(product);
}

TEST(Quantize, FollowsPaddlesArithmeticToTheBit) {
  Tensor x = random_floats({40000}, 5, -3, 3);
  for (float s : {2.7182817f, 0.333333343f, 1.0f, 6.0f, 1e-20f}) {
    std::vector<float> even, away, even_fake, away_fake;
    for (float value : x.data<float>()) {
      even.push_back(paddle_even(value, s));
      away.push_back(paddle_away(value, s));
      volatile float even_product = even.back() * s, away_product = away.back() * s;
      even_fake.push_back(even_product / 127.0f);
      away_fake.push_back(away_product / 127.0f);
    }
    Attrs attrs = {{"dtype", kFloat}};
    for (int threads : {1, 3})
      EXPECT_EQ(values<float>(run_node("quantize", {x, floats({s})}, attrs, threads)), even);
    EXPECT_EQ(values<float>(run_node("fake_quant", {x, floats({s})})), even_fake);
    EXPECT_EQ(values<float>(run_node("fake_quant", {x, floats({s})}, {{"rounding", kAway}})), away_fake);
    attrs["rounding"] = kAway;
    EXPECT_EQ(values<float>(run_node("quantize", {x, floats({s})}, attrs)), away);
  }
}

TEST(Quantize, OneScaleForEachChannel) {
  Tensor x = Tensor::of<float>({2, 2, 2}, {1, 2, 1, 2, -1, -2, -1, -2});
  Tensor scale = Tensor::of<float>({1, 2}, {127, 254});
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, scale}, {{"axis", std::int64_t{1}}})),
              ElementsAre(1, 2, 0, 1, -1, -2, 0, -1));
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, scale}, {{"axis", std::int64_t{0}}})),
              ElementsAre(1, 2, 1, 2, 0, -1, 0, -1));
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, scale}, {{"axis", std::int64_t{2}}})),
              ElementsAre(1, 1, 1, 1, -1, -1, -1, -1));
}

TEST(Quantize, SurvivesAnyScaleAndNumber) {
  float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = floats({0, 1, -1, inf, -inf, nan});
  for (float s : {0.0f, 1e-38f, -1.0f, inf, nan, 1e-45f})
    for (const std::string& rounding : {std::string("even"), kAway}) {
      std::vector<std::int8_t> q =
          values<std::int8_t>(run_node("quantize", {x, floats({s})}, {{"rounding", rounding}}));
      EXPECT_EQ(q.back(), -128) << s;
    }
  // Paddle's guard against scales of 0: 1 / (s + 1e-6).
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {floats({1e-8f, 1}), floats({0})})),
              ElementsAre(1, 127));
}

TEST(Quantize, FewerBits) {
  EXPECT_THAT(values<std::int8_t>(
                  run_node("quantize", {floats({6.6f, 7.9f, -9}), floats({7})}, {{"bits", std::int64_t{4}}})),
              ElementsAre(7, 7, -8));
}

TEST(Quantize, ByAStep) {
  Attrs attrs = {{"unit", kStep}};
  Tensor x = floats({0.25f, 0.75f, -0.25f, 100});
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, floats({0.5f})}, attrs)),
              ElementsAre(0, 2, 0, 127));
  Tensor zero = Tensor::of<std::int8_t>({1}, {10});
  EXPECT_THAT(values<std::int8_t>(run_node("quantize", {x, floats({0.5f}), zero}, attrs)),
              ElementsAre(10, 12, 10, 127));
  Tensor q = Tensor::of<std::int8_t>({3}, {10, 12, -128});
  EXPECT_THAT(values<float>(run_node("dequantize", {q, floats({0.5f}), zero}, attrs)),
              ElementsAre(0, 1, -69));
}

TEST(Dequantize, MultipliesThenDivides) {
  Tensor q = Tensor::of<std::int8_t>({4}, {1, 3, -128, 127});
  float s = 0.7f;
  std::vector<float> expected;
  for (float value : {1.0f, 3.0f, -128.0f, 127.0f}) {
    volatile float product = value * s;
    expected.push_back(product / 127.0f);
  }
  EXPECT_EQ(values<float>(run_node("dequantize", {q, floats({s})})), expected);
  EXPECT_EQ(values<float>(run_node("dequantize", {floats({1, 3, -128, 127}), floats({s})})), expected);
  EXPECT_EQ(
      values<float>(run_node("dequantize", {Tensor::of<std::int32_t>({4}, {1, 3, -128, 127}), floats({s})})),
      expected);
  // Paddle does not read zero points.
  Tensor zero = Tensor::of<std::int32_t>({1}, {50});
  EXPECT_EQ(values<float>(run_node("dequantize", {q, floats({s}), zero})), expected);
}

TEST(Dequantize, ChannelsOfAWeight) {
  Tensor w = Tensor::of<std::int8_t>({2, 2}, {127, 127, 127, 127});
  Tensor scale = Tensor::of<float>({1, 2}, {1, 2});
  EXPECT_THAT(values<float>(run_node("dequantize", {w, scale}, {{"axis", std::int64_t{0}}})),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(values<float>(run_node("dequantize", {w, scale}, {{"axis", std::int64_t{1}}})),
              ElementsAre(1, 2, 1, 2));
}

TEST(DynamicQuantize, MeasuresTheScale) {
  Tensor x = Tensor::of<float>({2, 2}, {1, -2, 4, 1});
  std::vector<Tensor> whole = run_node_multi("dynamic_quantize", {x}, {}, 2);
  EXPECT_THAT(values<float>(whole[1]), ElementsAre(4));
  EXPECT_THAT(values<float>(whole[0]), ElementsAre(32, -64, 127, 32));
  std::vector<Tensor> columns = run_node_multi("dynamic_quantize", {x}, {{"axis", std::int64_t{1}}}, 2);
  EXPECT_THAT(values<float>(columns[1]), ElementsAre(4, 2));
  EXPECT_THAT(values<float>(columns[0]), ElementsAre(32, -127, 127, 64));
  std::vector<Tensor> fake = run_node_multi("dynamic_fake_quant", {x}, {{"axis", std::int64_t{0}}}, 2);
  EXPECT_THAT(values<float>(fake[1]), ElementsAre(2, 4));
  EXPECT_THAT(values<float>(fake[0]), ElementsAre(64.0f * 2 / 127, -2, 4, 32.0f * 4 / 127));
}

TEST(DequantizeSum, OfAConvolutionAndOfAProduct) {
  Tensor sums = Tensor::of<float>({1, 2, 2}, {16129, 32258, 16129, 32258});
  Tensor weights = floats({1, 10}), x_scale = floats({3});
  EXPECT_THAT(values<float>(run_node("dequantize_sum", {sums, weights, x_scale})), ElementsAre(3, 6, 30, 60));
  EXPECT_THAT(values<float>(run_node("dequantize_sum", {sums, weights, x_scale},
                                     {{"x_num_col_dims", std::int64_t{2}}})),
              ElementsAre(3, 60, 3, 60));
  EXPECT_THAT(values<float>(run_node("dequantize_sum", {sums, weights}, {{"axis", std::int64_t{1}}})),
              ElementsAre(127, 254, 1270, 2540));
}

TEST(DequantizeRange, DividesByTheRange) {
  EXPECT_THAT(values<float>(run_node("dequantize_range", {floats({10, -5}), floats({3})}, {{"range", 15.0}})),
              ElementsAre(2, -1));
}

TEST(Observe, Copies) {
  EXPECT_THAT(values<float>(run_node("observe", {floats({1, 2}), floats({3})})), ElementsAre(1, 2));
}

TEST(Quantize, RefusesWhatDoesNotFit) {
  Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), s = floats({1, 2});
  auto error = [&](const char* op, std::vector<Tensor> inputs, Attrs attrs) {
    return error_of([&] { run_node(op, inputs, attrs); });
  };
  EXPECT_THAT(error("quantize", {x, s}, {{"axis", std::int64_t{1}}}), HasSubstr("2 elements for 3 channels"));
  EXPECT_THAT(error("quantize", {x, s}, {{"axis", std::int64_t{2}}}), HasSubstr("axis is 2"));
  EXPECT_THAT(error("quantize", {x, s}, {{"axis", std::int64_t{-2}}}), HasSubstr("axis is -2"));
  EXPECT_THAT(error("quantize", {x, s}, {{"bits", std::int64_t{9}}}), HasSubstr("bits is 9"));
  EXPECT_THAT(error("fake_quant", {x, s}, {{"bits", std::int64_t{1}}}), HasSubstr("bits is 1"));
  EXPECT_THAT(error("quantize", {x, s}, {{"rounding", std::string("up")}}), HasSubstr("rounding"));
  EXPECT_THAT(error("quantize", {x, s}, {{"unit", std::string("x")}}), HasSubstr("unit"));
  EXPECT_THAT(error("quantize", {x, s}, {{"dtype", std::string("int64")}}), HasSubstr("int64"));
  EXPECT_THAT(error("quantize", {x, Tensor(DType::kFloat32, {0})}, {}), HasSubstr("empty"));
  EXPECT_THAT(error("quantize", {x, Tensor::of<std::int32_t>({1}, {1})}, {}), HasSubstr("scale is int32"));
  EXPECT_THAT(error("dequantize_sum", {x, s, floats({1})}, {{"x_num_col_dims", std::int64_t{5}}}),
              HasSubstr("axis 5"));
}

}  // namespace
}  // namespace octet
