#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_runner.h"

// Shapes of the ops that slide windows over images or multiply matrices, and what they refuse.
namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::infer_shape;
using testing::Ints;

ValueInfo floats(Shape shape) {
  return {DType::kFloat32, std::move(shape), nullptr};
}

std::string infer_error(const std::string& op, const std::vector<ValueInfo>& inputs,
                        const Attrs& attrs = {}) {
  return error_of([&] { infer_shape(op, inputs, attrs); });
}

const ValueInfo kImage = floats({kUnknown, 8, kUnknown, 30}), kWeight = floats({16, 8, 3, 3});

TEST(ConvolutionShapes, UnknownDimensionsStayUnknown) {
  EXPECT_EQ(infer_shape("conv2d", {kImage, kWeight}), (Shape{kUnknown, 16, kUnknown, 28}));
  Attrs same = {{"auto_pad", std::string("same")}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(infer_shape("conv2d", {kImage, kWeight}, same), (Shape{kUnknown, 16, kUnknown, 15}));
  EXPECT_EQ(infer_shape("conv2d_transpose", {kImage, floats({8, 4, 2, 2})}, {{"strides", Ints{2, 2}}}),
            (Shape{kUnknown, 4, kUnknown, 60}));
  Attrs sized = {{"strides", Ints{2, 2}}, {"output_size", Ints{41, 61}}};
  EXPECT_EQ(infer_shape("conv2d_transpose", {kImage, floats({8, 4, 2, 2})}, sized),
            (Shape{kUnknown, 4, 41, 61}));
  EXPECT_EQ(infer_shape("conv2d", {kImage, floats({kUnknown, 8, kUnknown, 1})}),
            (Shape{kUnknown, kUnknown, kUnknown, 30}));
}

TEST(ConvolutionShapes, RefuseWhatDoesNotFit) {
  EXPECT_THAT(infer_error("conv2d", {floats({8, 30, 30}), kWeight}), HasSubstr("x has shape 8x30x30"));
  EXPECT_THAT(infer_error("conv2d", {kImage, floats({16, 8, 3})}), HasSubstr("weight has shape 16x8x3"));
  EXPECT_THAT(infer_error("conv2d", {kImage, floats({16, 7, 3, 3})}), HasSubstr("8 channels"));
  EXPECT_THAT(infer_error("conv2d", {kImage, floats({16, 0, 3, 3})}), HasSubstr("makes no sense"));
  EXPECT_THAT(infer_error("conv2d", {kImage, floats({16, 8, 3, 40})}),
              HasSubstr("window of 40 does not fit"));
  EXPECT_THAT(infer_error("conv2d", {kImage, floats({15, 4, 3, 3})}, {{"groups", std::int64_t{2}}}),
              HasSubstr("groups is 2, which does not divide"));
  EXPECT_THAT(infer_error("conv2d", {kImage, kWeight, floats({15})}), HasSubstr("bias"));
  EXPECT_THAT(infer_error("conv2d", {{DType::kInt64, {1, 8, 30, 30}, nullptr}, kWeight}), HasSubstr("int64"));
  EXPECT_THAT(infer_error("conv2d", {floats({1, 8, 30, std::int64_t{1} << 34}), kWeight}),
              HasSubstr("sensible"));
  EXPECT_THAT(infer_error("conv2d_transpose", {kImage, floats({7, 4, 2, 2})}), HasSubstr("8 and 7"));
}

TEST(ConvolutionShapes, RefuseHostileAttributes) {
  auto refuse = [&](const char* name, Attr value, const char* text, const char* op = "conv2d") {
    ValueInfo weight = std::string(op) == "conv2d" ? kWeight : floats({8, 4, 2, 2});
    EXPECT_THAT(infer_error(op, {kImage, weight}, {{name, value}}), HasSubstr(text)) << name;
  };
  for (const char* name : {"strides", "dilations"}) {
    refuse(name, Ints{0, 1}, "holds 0");
    refuse(name, Ints{1, -1}, "holds -1");
    refuse(name, Ints{1, std::int64_t{1} << 62}, "expected numbers from 1 to 1024");
    refuse(name, Ints{1}, "has 1 numbers, expected 2");
  }
  refuse("paddings", Ints{0, 0, 0, -1}, "holds -1");
  refuse("paddings", Ints{0, 0, 0, std::int64_t{1} << 62}, "holds");
  refuse("paddings", Ints{1, 1}, "expected 4");
  for (std::int64_t groups : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40})
    refuse("groups", groups, "groups");
  refuse("auto_pad", std::string("SAME"), "auto_pad");
  refuse("output_padding", Ints{0, 1}, "output_padding 1", "conv2d_transpose");
  refuse("output_padding", Ints{-1, 0}, "holds -1", "conv2d_transpose");
  refuse("output_size", Ints{40, 90}, "output_size 90", "conv2d_transpose");
  refuse("output_size", Ints{0, 31}, "holds 0", "conv2d_transpose");
  refuse("paddings", Ints{0, 0, 50, 50}, "nothing of the output", "conv2d_transpose");
}

TEST(MatmulShapes, FollowNumpy) {
  EXPECT_EQ(infer_shape("matmul", {floats({kUnknown, 12, 5, 7}), floats({12, 7, 3})}),
            (Shape{kUnknown, 12, 5, 3}));
  EXPECT_EQ(infer_shape("matmul", {floats({4, kUnknown}), floats({7, 3})}), (Shape{4, 3}));
  EXPECT_EQ(infer_shape("matmul", {floats({7}), floats({2, 7, 3})}), (Shape{2, 3}));
  EXPECT_EQ(infer_shape("matmul", {floats({2, 3, 7}), floats({7})}), (Shape{2, 3}));
  EXPECT_EQ(
      infer_shape("matmul", {floats({7, 4}), floats({3, 7})}, {{"transpose_x", true}, {"transpose_y", true}}),
      (Shape{4, 3}));
  EXPECT_THAT(infer_error("matmul", {floats({4, 6}), floats({7, 3})}), HasSubstr("4x6 times 7x3"));
  EXPECT_THAT(infer_error("matmul", {floats({2, 4, 7}), floats({3, 7, 3})}), HasSubstr("do not fit"));
  EXPECT_THAT(infer_error("matmul", {floats({}), floats({7, 3})}), HasSubstr("scalar"));
}

TEST(MatmulShapes, Flat) {
  EXPECT_EQ(infer_shape("matmul_flat", {floats({kUnknown, 2, 3}), floats({6, 5})}), (Shape{kUnknown, 5}));
  EXPECT_EQ(infer_shape("matmul_flat", {floats({kUnknown, 2, 3}), floats({3, 5})},
                        {{"x_num_col_dims", std::int64_t{2}}}),
            (Shape{kUnknown, 2, 5}));
  EXPECT_THAT(infer_error("matmul_flat", {floats({4, 6}), floats({7, 3})}), HasSubstr("6 and 7"));
  for (std::int64_t dims : {-1, 0, 2})
    EXPECT_THAT(infer_error("matmul_flat", {floats({4, 7}), floats({7, 3})}, {{"x_num_col_dims", dims}}),
                HasSubstr("x_num_col_dims"));
}

TEST(PoolShapes, OfEachKind) {
  Attrs attrs = {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(infer_shape("pool2d", {floats({kUnknown, 8, kUnknown, 31})}, attrs),
            (Shape{kUnknown, 8, kUnknown, 15}));
  attrs["ceil_mode"] = true;
  EXPECT_EQ(infer_shape("pool2d", {floats({1, 8, 30, 31})}, attrs), (Shape{1, 8, 15, 16}));
  EXPECT_EQ(infer_shape("pool2d", {kImage}, {{"global", true}}), (Shape{kUnknown, 8, 1, 1}));
  EXPECT_EQ(infer_shape("pool2d", {kImage}, {{"adaptive", true}, {"kernel", Ints{6, 5}}}),
            (Shape{kUnknown, 8, 6, 5}));
  EXPECT_EQ(infer_shape("pool2d", {kImage}, {{"auto_pad", std::string("same")}, {"kernel", Ints{3, 3}}}),
            (Shape{kUnknown, 8, kUnknown, 30}));
}

TEST(PoolShapes, RefuseNonsense) {
  EXPECT_THAT(infer_error("pool2d", {kImage}, {{"type", std::string("median")}}), HasSubstr("median"));
  EXPECT_THAT(infer_error("pool2d", {kImage}, {{"kernel", Ints{0, 1}}}), HasSubstr("holds 0"));
  EXPECT_THAT(infer_error("pool2d", {kImage}, {{"kernel", Ints{1, 40}}}), HasSubstr("does not fit"));
  EXPECT_THAT(infer_error("pool2d", {kImage}, {{"strides", Ints{0, 1}}}), HasSubstr("holds 0"));
  EXPECT_THAT(infer_error("pool2d", {floats({1, 8, 0, 3})}), HasSubstr("sensible"));
  EXPECT_THAT(infer_error("pool2d", {floats({8, 3})}), HasSubstr("8x3"));
}

TEST(ResizeShapes, FromWhatIsKnown) {
  ValueInfo size{DType::kInt32, {2}, nullptr}, side{DType::kInt32, {1}, nullptr};
  EXPECT_EQ(infer_shape("resize", {kImage, size}), (Shape{kUnknown, 8, kUnknown, kUnknown}));
  EXPECT_EQ(infer_shape("resize", {kImage}, {{"scale", std::vector<double>{2.0}}}),
            (Shape{kUnknown, 8, kUnknown, 60}));
  EXPECT_EQ(infer_shape("resize", {kImage}, {{"out_h", std::int64_t{5}}, {"out_w", std::int64_t{6}}}),
            (Shape{kUnknown, 8, 5, 6}));
  EXPECT_THAT(infer_error("resize", {kImage}), HasSubstr("output size -1"));
  EXPECT_THAT(infer_error("resize", {kImage, size, floats({1}), side}), HasSubstr("has 1 numbers"));
  EXPECT_THAT(infer_error("resize", {kImage, {DType::kInt32, {3}, nullptr}}), HasSubstr("has 3 numbers"));
}

TEST(ResizeShapes, RefuseHostileAttributes) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double scale : {0.0, -1.0, inf, nan, 1e30, 1e-9})
    EXPECT_NE(infer_error("resize", {kImage}, {{"scale", std::vector<double>{1, scale}}}), "") << scale;
  EXPECT_THAT(infer_error("resize", {kImage}, {{"scale", std::vector<double>{1, 1, 1}}}),
              HasSubstr("3 numbers"));
  Attrs huge = {{"out_h", std::int64_t{1} << 40}, {"out_w", std::int64_t{1}}};
  EXPECT_THAT(infer_error("resize", {kImage}, huge),
              HasSubstr("attribute out_h is 1099511627776, expected a number from -1 to 65536"));
  EXPECT_THAT(infer_error("resize", {kImage}, {{"mode", std::string("bicubic")}}), HasSubstr("bicubic"));
  EXPECT_THAT(infer_error("resize", {kImage}, {{"align_mode", std::int64_t{2}}}), HasSubstr("align_mode"));
}

TEST(PadShapes, OfUnknownPaddings) {
  ValueInfo amounts{DType::kInt32, {6}, nullptr};
  EXPECT_EQ(infer_shape("pad", {floats({1, 2, 3, 4, 5}), amounts}),
            (Shape{1, 2, kUnknown, kUnknown, kUnknown}));
  EXPECT_EQ(infer_shape("pad", {floats({1, 2, kUnknown, 4, 5})}, {{"paddings", Ints{1, 2, 3, 4, 5, 6}}}),
            (Shape{1, 2, kUnknown, 11, 8}));
  EXPECT_THAT(infer_error("pad", {kImage}, {{"paddings", Ints{0, 0, 1}}}),
              HasSubstr("paddings has 3 numbers, expected two a dimension"));
  EXPECT_THAT(infer_error("pad", {kImage}, {{"paddings", Ints(10, 1)}}), HasSubstr("another one is padded"));
}

}  // namespace
}  // namespace octet
