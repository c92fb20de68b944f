#include "graph/quantization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/op_table.h"
#include "kernels/quantizer.h"

namespace octet {
namespace {

TEST(Quantization, RangesFollowFromBitsAndSign) {
  Quantization q;
  EXPECT_EQ(q.qmin(), -128);
  EXPECT_EQ(q.qmax(), 127);
  q.is_signed = false;
  EXPECT_EQ(q.qmin(), 0);
  EXPECT_EQ(q.qmax(), 255);
  q = {.bits = 2};
  EXPECT_EQ(q.qmin(), -2);
  EXPECT_EQ(q.qmax(), 1);
  EXPECT_EQ(Quantization{.bits = 32}.qmax(), std::numeric_limits<int>::max());
}

// Paddle's numbers come back to the bit, and so does its arithmetic.
TEST(Quantization, AbsMaxComesBackToTheBit) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(-126, 127), fraction(1, 2);
  for (int i = 0; i < 100000; ++i) {
    const float abs_max = std::ldexp(fraction(random), static_cast<int>(exponent(random)));
    const int bits = 2 + i % 7;
    const Quantization q = Quantization::of_abs_max(abs_max, bits);
    ASSERT_EQ(q.abs_max(), abs_max) << bits;
    const auto levels = static_cast<float>(levels_of(bits));
    ASSERT_EQ(Quantizer(q).multiplier, levels * inverse_of(abs_max)) << abs_max << " " << bits;
  }
  for (float abs_max : {0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()})
    EXPECT_EQ(Quantization::of_abs_max(abs_max, 8).abs_max(), abs_max);
}

TEST(Quantization, AProductOfStepsIsRoundedOnce) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> number(0, 3);
  for (int i = 0; i < 100000; ++i) {
    const float x = number(random), w = number(random);
    const double exact = static_cast<double>(x) * static_cast<double>(w) / (127.0 * 7.0);
    ASSERT_EQ(product_of_steps(Quantization::of_abs_max(x, 8), Quantization::of_abs_max(w, 4), 0),
              static_cast<float>(exact));
  }
}

struct Nodes {
  Graph graph;
  ValueId x = graph.add_value("x", DType::kFloat32, {2, 3}),
          integers = graph.add_value("q", DType::kInt8, {2, 3}),
          scale = graph.add_constant("scale", Tensor::of<float>({1}, {2})),
          scales = graph.add_constant("scales", Tensor::of<float>({3}, {1, 2, 4})),
          zero = graph.add_constant("zero", Tensor::of<std::int32_t>({1}, {3})),
          bytes = graph.add_value("bytes", DType::kUInt8, {2, 3}),
          sums = graph.add_value("sums", DType::kInt32, {2, 3});

  std::optional<Quantization> of(const char* op, std::vector<ValueId> inputs, ValueId output, Attrs attrs) {
    return quantization_of(
        graph, Node{.op = op, .inputs = std::move(inputs), .outputs = {output}, .attrs = std::move(attrs)});
  }
};

TEST(Quantization, IsReadFromNodes) {
  Nodes n;
  std::optional<Quantization> found =
      n.of("quantize", {n.x, n.scale}, n.integers, {{"bits", std::int64_t{4}}, {"rounding", "away"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, Quantization::of_abs_max(2, 4, Rounding::kAway));
  EXPECT_TRUE(has_integer_kernels(*found));

  found = n.of("dequantize", {n.integers, n.scales}, n.x, {{"axis", std::int64_t{1}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, Quantization::of_abs_max(std::vector<float>{1, 2, 4}, 8, 1));
  EXPECT_FALSE(found->is_per_tensor());
  EXPECT_TRUE(has_integer_kernels(*found));

  found = n.of("quantize", {n.x, n.scale}, n.x, {{"dtype", "float32"}, {"axis", std::int64_t{0}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axis, -1) << "there is but one scale";
  EXPECT_EQ(found->held_as, DType::kFloat32);
  EXPECT_FALSE(has_integer_kernels(*found));

  found =
      n.of("add", {n.x, n.x, n.scale}, n.integers, {{"bits", std::int64_t{8}}, {"axis", std::int64_t{1}}});
  ASSERT_TRUE(found) << "of the epilogue";
  EXPECT_EQ(*found, Quantization::of_abs_max(2, 8));
}

// Read, but left to the float kernels so far.
TEST(Quantization, WhatOnnxHasIsDescribed) {
  Nodes n;
  std::optional<Quantization> found = n.of("dequantize", {n.bytes, n.scale, n.zero}, n.x, {{"unit", "step"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step(), 2);
  EXPECT_EQ(found->zero_point(), 3);
  EXPECT_FALSE(found->is_signed);
  EXPECT_EQ(found->qmax(), 255);
  EXPECT_FALSE(has_integer_kernels(*found));

  found = n.of("dequantize", {n.sums, n.scales}, n.x, {{"unit", "step"}, {"axis", std::int64_t{1}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bits, 32);
  EXPECT_EQ(found->step(2), 4);
  EXPECT_FALSE(has_integer_kernels(*found));
}

TEST(Quantization, WhatIsNotKnownBeforeTheRunIsNotDescribed) {
  Nodes n;
  EXPECT_FALSE(n.of("quantize", {n.x, n.x}, n.integers, {}));
  EXPECT_FALSE(n.of("quantize", {n.x, n.scales}, n.integers, {})) << "three scales and no axis";
  EXPECT_FALSE(n.of("relu", {n.x}, n.x, {}));
  EXPECT_FALSE(n.of("add", {n.x, n.x}, n.x, {}));
}

}  // namespace
}  // namespace octet
