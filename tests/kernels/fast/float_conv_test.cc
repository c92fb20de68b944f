#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::Ints;
using testing::random_floats;

struct Case {
  Shape x, weight;
  std::int64_t groups = 1;
  Ints strides = {1, 1}, paddings = {0, 0, 0, 0}, dilations = {1, 1};
};

Attrs attrs_of(const Case& c) {
  return {{"strides", c.strides}, {"paddings", c.paddings}, {"dilations", c.dilations}, {"groups", c.groups}};
}

void expect_conv(const Case& c, bool with_bias = true) {
  Tensor bias = with_bias ? random_floats({c.weight[0]}, 3) : Tensor();
  const char* kernel = c.weight[1] == 1 ? "depthwise" : "gemm";  // with one input channel per group
  expect_as_reference("conv2d", kernel, {random_floats(c.x, 1), random_floats(c.weight, 2), bias},
                      attrs_of(c), {1, 2});
}

TEST(FastConv, OneByOne) {
  for (std::int64_t channels : {1, 3, 16, 33})
    for (std::int64_t columns : {1, 7, 8, 9, 16, 24, 25, 40, 67})
      for (Shape side : {Shape{1, 1}, Shape{1, 3}, Shape{5, 7}}) {
        expect_conv({{1, channels, side[0], side[1]}, {columns, channels, 1, 1}});
        expect_conv({{3, channels, side[0], side[1]}, {columns, channels, 1, 1}}, false);
      }
  expect_conv({{1, 64, 40, 40}, {48, 64, 1, 1}});
  expect_conv({{2, 20, 9, 8}, {48, 20, 1, 1}, 1, {2, 3}, {0, 1, 2, 0}});
}

TEST(FastConv, Kernels) {
  for (std::int64_t channels : {1, 3, 24, 40})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t dilation : {1, 2})
        for (Shape kernel : {Shape{3, 3}, Shape{1, 5}, Shape{4, 2}})
          for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{3, 0, 2, 4}})
            expect_conv({{2, channels, 9, 11},
                         {20, channels, kernel[0], kernel[1]},
                         1,
                         {stride, 1 + stride % 3},
                         pads,
                         {dilation, 3 - dilation}});
  expect_conv({{1, 3, 37, 35}, {32, 3, 7, 7}, 1, {2, 2}, {3, 3, 3, 3}});
  expect_conv({{1, 2, 1, 1}, {5, 2, 5, 5}, 1, {1, 1}, {4, 4, 4, 4}});  // mostly padding
}

TEST(FastConv, Groups) {
  for (std::int64_t groups : {2, 3, 4})
    for (std::int64_t in : {1, 5, 8})
      for (std::int64_t out : {1, 3, 8, 17})
        expect_conv({{2, groups * in, 6, 7}, {groups * out, in, 3, 3}, groups, {1, 2}, {1, 0, 1, 2}});
}

TEST(FastConv, Depthwise) {
  for (std::int64_t channels : {1, 7, 8, 16, 19, 40})
    for (std::int64_t size : {3, 5})
      for (std::int64_t stride : {1, 2})
        for (Shape side : {Shape{1, 2}, Shape{7, 5}, Shape{8, 11}, Shape{14, 23}})
          for (std::int64_t pad : {2, 1}) {
            if (std::min(side[0], side[1]) + 2 * pad < size) continue;
            expect_conv({{2, channels, side[0], side[1]},
                         {channels, 1, size, size},
                         channels,
                         {stride, stride},
                         {pad, pad, pad - 1, pad + 1}});
          }
  expect_conv({{1, 24, 9, 9}, {24, 1, 3, 3}, 24}, false);
  expect_conv({{1, 300, 5, 6}, {300, 1, 3, 3}, 300, {1, 1}, {1, 1, 1, 1}});
}

TEST(FastConv, OtherDepthwise) {
  for (std::int64_t channels : {1, 5, 8, 43}) {
    for (std::int64_t multiplier : {1, 2, 6})
      expect_conv({{2, channels, 7, 6}, {channels * multiplier, 1, 3, 3}, channels, {2, 1}, {1, 1, 1, 1}});
    for (std::int64_t size : {3, 5})
      for (const Ints& strides : {Ints{2, 1}, Ints{1, 2}, Ints{3, 1}})
        expect_conv({{2, channels, 9, 13}, {channels, 1, size, size}, channels, strides, {2, 1, 1, 2}});
    expect_conv({{1, channels, 9, 8}, {channels, 1, 3, 3}, channels, {1, 1}, {2, 2, 2, 2}, {2, 2}});
    expect_conv({{1, channels, 9, 8}, {channels, 1, 1, 5}, channels, {1, 1}, {0, 0, 2, 2}});
    expect_conv({{1, channels, 9, 9}, {channels, 1, 7, 7}, channels, {2, 2}, {3, 3, 3, 3}});
    expect_conv({{1, channels, 3, 3}, {channels, 1, 3, 3}, channels, {3, 3}, {0, 3, 3, 0}});
  }
}

TEST(FastConv, AutoPad) {
  for (const char* mode : {"same", "valid"})
    expect_as_reference("conv2d", "gemm", {random_floats({1, 5, 12, 11}, 1), random_floats({9, 5, 3, 4}, 2)},
                        {{"auto_pad", std::string(mode)}, {"strides", Ints{2, 2}}}, {1});
}

TEST(FastConv, Epilogues) {
  for (const std::string& activation : testing::activation_names())
    for (std::int64_t columns : {8, 19, 32})
      for (bool residual : {false, true})
        for (int outputs : {0, 1, 2}) {  // a float, an int8, both
          Tensor scale = outputs > 0 ? Tensor::of<float>({1}, {2.5f}) : Tensor();
          Tensor added = residual ? random_floats({2, columns, 5, 6}, 4, -3, 3) : Tensor();
          expect_as_reference("conv2d", "gemm",
                              {random_floats({2, 10, 5, 6}, 1, -2, 2), random_floats({columns, 10, 1, 1}, 2),
                               random_floats({columns}, 3), scale, added},
                              {{"activation", std::string(activation)}}, {1, 2, 3}, 0, std::max(outputs, 1));
        }
}

TEST(FastConv, Gates) {
  for (std::int64_t channels : {1, 6, 40})
    for (std::int64_t columns : {5, 24, 67})
      for (std::int64_t kernel : {1, 3})
        expect_as_reference(
            "conv2d", kernel == 1 ? "gemm" : "ref",
            {random_floats({3, channels, 9, 8}, 1), random_floats({columns, channels, kernel, kernel}, 2),
             random_floats({columns}, 3), Tensor(), Tensor(), random_floats({3, channels, 1, 1}, 4)},
            {{"exact", false}}, {1, 2}, 2e-5);
}

TEST(FastConv, EpiloguesOfDepthwise) {
  for (const char* activation : {"", "relu6", "hard_swish"})
    for (std::int64_t channels : {5, 8, 19, 300})
      for (std::int64_t size : {3, 4})
        for (bool residual : {false, true})
          for (int outputs : {0, 1, 2}) {
            Tensor scale = outputs > 0 ? Tensor::of<float>({1}, {2.5f}) : Tensor();
            Tensor added = residual ? random_floats({1, channels, 6, 7}, 4, -3, 3) : Tensor();
            expect_as_reference(
                "conv2d", "depthwise",
                {random_floats({1, channels, size + 3, size + 4}, 1, -2, 2),
                 random_floats({channels, 1, size, size}, 2), random_floats({channels}, 3), scale, added},
                {{"activation", std::string(activation)},
                 {"groups", channels},
                 {"paddings", Ints{1, 1, 1, 1}}},
                {1, 2, 3}, 0, std::max(outputs, 1));
          }
}

TEST(FastConv, Winograd) {
  for (std::int64_t channels : {8, 19, 64})
    for (std::int64_t columns : {8, 27, 40})
      for (Shape side : {Shape{9, 12}, Shape{15, 14}, Shape{5, 3}})
        for (const Ints& pads : {Ints{1, 1, 1, 1}, Ints{0, 0, 0, 0}, Ints{2, 1, 0, 3}}) {
          Attrs attrs = attrs_of({{}, {}, 1, {1, 1}, pads});
          attrs["exact"] = false;
          expect_as_reference("conv2d", "winograd",
                              {random_floats({2, channels, side[0], side[1]}, 1),
                               random_floats({columns, channels, 3, 3}, 2), random_floats({columns}, 3)},
                              attrs, {1, 2}, 2e-5);
        }
  for (const char* activation : {"", "relu", "swish"})
    for (bool residual : {false, true})
      expect_as_reference(
          "conv2d", "winograd",
          {random_floats({1, 16, 14, 13}, 1), random_floats({300, 16, 3, 3}, 2), random_floats({300}, 3),
           Tensor(), residual ? random_floats({1, 300, 12, 11}, 4) : Tensor()},
          {{"exact", false}, {"activation", std::string(activation)}}, {1, 2}, 2e-5);
  expect_as_reference("conv2d", "winograd",
                      {random_floats({1, 256, 14, 14}, 1), random_floats({256, 256, 3, 3}, 2)},
                      {{"exact", false}, {"paddings", Ints{1, 1, 1, 1}}}, {1}, 2e-5);
}

TEST(FastConv, LeavesWeightsThatAreNoConstantsToTheReference) {
  expect_as_reference("conv2d", "ref",
                      {random_floats({1, 4, 5, 5}, 1), random_floats({6, 4, 3, 3}, 2), random_floats({6}, 3)},
                      {}, {2});
  expect_as_reference("conv2d", "ref",
                      {random_floats({1, 4, 5, 5}, 1), random_floats({6, 4, 3, 3}, 2), random_floats({6}, 3)},
                      {}, {1});
}

}  // namespace
}  // namespace octet
