#include "tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace octet {
namespace {

using ::testing::ElementsAre;

TEST(Tensor, ElementCountNeverOverflows) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({1 << 30, 1 << 30, 0}), 0);
  EXPECT_THROW(element_count({1 << 30, 1 << 30}), Error);
  EXPECT_THROW(element_count({std::numeric_limits<std::int64_t>::max(), 2}), Error);
  EXPECT_THROW(element_count({-1, 2}), Error);
}

TEST(Tensor, AViewAtAnOddAddressIsCopiedWhenAligned) {
  alignas(8) static const std::byte bytes[9] = {std::byte{0}, std::byte{1}, std::byte{0},
                                                std::byte{0}, std::byte{0}, std::byte{2},
                                                std::byte{0}, std::byte{0}, std::byte{0}};
  Tensor odd = Tensor::view(DType::kInt32, {2}, bytes + 1, nullptr);
  EXPECT_THROW(odd.data<std::int32_t>(), Error);
  EXPECT_THAT(odd.aligned().data<std::int32_t>(), ElementsAre(1, 2));
  Tensor even = Tensor::view(DType::kInt32, {2}, bytes, nullptr);
  EXPECT_EQ(even.aligned().bytes().data(), bytes);
  EXPECT_THROW(even.mutable_data<std::int32_t>(), Error);
}

TEST(Tensor, Casts) {
  Tensor floats = Tensor::of<float>({5}, {-1.7f, 0.0f, 300.9f, std::nanf(""), 1e20f});
  EXPECT_THAT(floats.cast(DType::kInt32).data<std::int32_t>(),
              ElementsAre(-1, 0, 300, 0, std::numeric_limits<std::int32_t>::max()));
  EXPECT_THAT(floats.cast(DType::kInt8).data<std::int8_t>(), ElementsAre(-1, 0, 127, 0, 127));
  EXPECT_THAT(floats.cast(DType::kBool).data<bool>(), ElementsAre(true, false, true, true, true));
  EXPECT_THAT(to_int64s(Tensor::of<std::int32_t>({2}, {7, -7})), ElementsAre(7, -7));
}

TEST(Tensor, HalfTypes) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_TRUE(std::isinf(half_to_float(0x7c00)));
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
  EXPECT_EQ(bfloat16_to_float(0xbf80), -1.0f);
}

TEST(Tensor, ShapesAsText) {
  EXPECT_EQ(to_string(Shape{kUnknown, 3, 8}), "?x3x8");
  EXPECT_EQ(to_string(Shape{}), "scalar");
  DType dtype;
  EXPECT_TRUE(parse_dtype("int8", &dtype));
  EXPECT_EQ(dtype, DType::kInt8);
  EXPECT_FALSE(parse_dtype("int4", &dtype));
}

}  // namespace
}  // namespace octet
