#include "graph/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace octet {
namespace {

// The distance of `value` from the exact e^x in units of the last place of the float nearest to it.
double error_in_ulp(float x, float value) {
  double exact = std::exp(static_cast<double>(x));
  float nearest = static_cast<float>(exact);
  double ulp = static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) - nearest;
  return std::abs(value - exact) / ulp;
}

TEST(Exp, StaysWithinTwoUlpOverTheWholeRange) {
  double worst = 0;
  float worst_at = 0;
  // Every 397th float between -104 and 88.7, of both signs and down to the subnormals.
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(104.0f); bits += 397) {
    float magnitude = std::bit_cast<float>(bits);
    for (float x : {magnitude, -magnitude}) {
      if (x > 88.72f) continue;
      double error = error_in_ulp(x, exp_of(x));
      if (error > worst) worst = error, worst_at = x;
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << worst_at;
  EXPECT_GT(worst, 0.4) << "the measure itself is broken: no float function is this exact";
}

TEST(Exp, HandlesTheEnds) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_of(0.0f), 1.0f);
  EXPECT_EQ(exp_of(-0.0f), 1.0f);
  EXPECT_EQ(exp_of(kInf), kInf);
  EXPECT_EQ(exp_of(-kInf), 0.0f);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::max()), kInf);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::lowest()), 0.0f);
  EXPECT_EQ(exp_of(88.73f), kInf);
  EXPECT_LT(exp_of(88.72f), kInf);
  EXPECT_EQ(exp_of(-104.5f), 0.0f);
  EXPECT_EQ(exp_of(-103.5f), std::numeric_limits<float>::denorm_min());
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exp_of(-std::numeric_limits<float>::quiet_NaN())));
}

TEST(Exp, SigmoidSaturates) {
  EXPECT_EQ(sigmoid_of(0.0f), 0.5f);
  EXPECT_EQ(sigmoid_of(200.0f), 1.0f);
  EXPECT_EQ(sigmoid_of(-200.0f), 0.0f);
  EXPECT_NEAR(sigmoid_of(1.0f), 0.7310586f, 1e-7f);
}

// The definition is to the bit: these are the bits.
TEST(Exp, KeepsItsBits) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(exp_of(1.0f)), 0x402df854u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(exp_of(-1.0f)), 0x3ebc5ab2u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(exp_of(10.0f)), 0x46ac14efu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(exp_of(-87.5f)), 0x006cb2bcu);
}

}  // namespace
}  // namespace octet
