#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::Ints;
using testing::random_floats;
using testing::run_node;
using testing::values;

struct Case {
  std::int64_t batch, channels, out_channels, groups, height, width, kernel_h, kernel_w;
  Ints strides, paddings, dilations;
};

// The definition, element by element.
std::vector<float> convolve_naively(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias) {
  auto xs = x.data<float>(), ws = w.data<float>();
  std::int64_t out_h =
      (c.height + c.paddings[0] + c.paddings[1] - c.dilations[0] * (c.kernel_h - 1) - 1) / c.strides[0] + 1;
  std::int64_t out_w =
      (c.width + c.paddings[2] + c.paddings[3] - c.dilations[1] * (c.kernel_w - 1) - 1) / c.strides[1] + 1;
  std::int64_t in_group = c.channels / c.groups, out_group = c.out_channels / c.groups;
  std::vector<float> y;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t o = 0; o < c.out_channels; ++o)
      for (std::int64_t oy = 0; oy < out_h; ++oy)
        for (std::int64_t ox = 0; ox < out_w; ++ox) {
          float sum = 0;
          for (std::int64_t ky = 0; ky < c.kernel_h; ++ky)
            for (std::int64_t kx = 0; kx < c.kernel_w; ++kx)
              for (std::int64_t i = 0; i < in_group; ++i) {
                std::int64_t iy = oy * c.strides[0] - c.paddings[0] + ky * c.dilations[0];
                std::int64_t ix = ox * c.strides[1] - c.paddings[2] + kx * c.dilations[1];
                if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width) continue;
                std::int64_t channel = o / out_group * in_group + i;
                sum = std::fma(
                    ws[static_cast<std::size_t>(((o * in_group + i) * c.kernel_h + ky) * c.kernel_w + kx)],
                    xs[static_cast<std::size_t>(((n * c.channels + channel) * c.height + iy) * c.width + ix)],
                    sum);
              }
          y.push_back(bias.empty() ? sum : sum + bias.data<float>()[static_cast<std::size_t>(o)]);
        }
  return y;
}

const Case kCases[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {2, 3, 5, 1, 7, 9, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {1, 17, 4, 1, 5, 5, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {1, 4, 6, 2, 11, 8, 3, 5, {2, 1}, {1, 0, 2, 2}, {1, 1}},
    {1, 3, 8, 1, 15, 14, 3, 3, {2, 2}, {0, 1, 0, 1}, {1, 1}},
    {1, 6, 6, 6, 9, 9, 5, 5, {2, 2}, {2, 2, 2, 2}, {1, 1}},     // depthwise
    {2, 4, 12, 4, 8, 7, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},    // channel multiplier 3
    {1, 2, 3, 1, 12, 13, 3, 3, {1, 1}, {6, 6, 6, 6}, {6, 6}},   // dilated
    {1, 2, 2, 1, 20, 21, 3, 2, {3, 2}, {4, 3, 2, 1}, {2, 3}},   // stride and dilation
    {1, 2, 2, 1, 9, 9, 1, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},     // 1x1 that skips
    {1, 2, 2, 1, 3, 3, 1, 1, {1, 1}, {2, 1, 0, 3}, {1, 1}},     // padding beyond the kernel
    {1, 2, 3, 1, 6, 600, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},   // rows longer than a piece
    {1, 2, 3, 1, 300, 40, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},  // several tasks for a plane
    {1, 3, 2, 1, 4, 4, 4, 4, {7, 7}, {0, 0, 0, 0}, {1, 1}},     // one output
};

TEST(Conv2d, IsTheSumInItsOrderToTheBit) {
  for (const Case& c : kCases) {
    for (bool with_bias : {false, true}) {
      Tensor x = random_floats({c.batch, c.channels, c.height, c.width}, 1);
      Tensor w = random_floats({c.out_channels, c.channels / c.groups, c.kernel_h, c.kernel_w}, 2);
      Tensor bias = with_bias ? random_floats({c.out_channels}, 3) : Tensor();
      Attrs attrs = {
          {"strides", c.strides}, {"paddings", c.paddings}, {"dilations", c.dilations}, {"groups", c.groups}};
      std::vector<float> expected = convolve_naively(c, x, w, bias);
      for (int threads : {1, 3})
        ASSERT_EQ(values<float>(run_node("conv2d", {x, w, bias}, attrs, threads)), expected)
            << "case " << &c - kCases << ", " << threads << " threads";
    }
  }
}

TEST(Conv2d, SamePaddingIsUnevenAndIgnoresDilation) {
  // 4 wide, stride 2, kernel 3: one column of padding, behind the image.
  Tensor x = Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  Tensor w = Tensor::of<float>({1, 1, 1, 3}, {1, 10, 100});
  Attrs attrs = {{"strides", Ints{2, 2}},
                 {"auto_pad", std::string("same")},
                 {"dilations", Ints{5, 5}},
                 {"paddings", Ints{9, 9, 9, 9}}};
  EXPECT_THAT(values<float>(run_node("conv2d", {x, w}, attrs)), ElementsAre(321, 43));
}

TEST(Conv2d, ValidPaddingIsNone) {
  Tensor x = Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  Tensor w = Tensor::of<float>({1, 1, 1, 3}, {1, 10, 100});
  Attrs attrs = {{"auto_pad", std::string("valid")}, {"paddings", Ints{9, 9, 9, 9}}};
  EXPECT_THAT(values<float>(run_node("conv2d", {x, w}, attrs)), ElementsAre(321, 432));
}

TEST(Conv2d, AnEmptyBatchIsNoWork) {
  Tensor x(DType::kFloat32, {0, 1, 4, 4});
  Tensor w = random_floats({2, 1, 3, 3}, 1);
  EXPECT_EQ(run_node("conv2d", {x, w}).shape(), (Shape{0, 2, 2, 2}));
}

}  // namespace
}  // namespace octet
