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
  std::int64_t channels, out_channels, groups, height, width, kernel;
  Ints strides, paddings, dilations, output_padding;
};

// The definition: every output looks for the inputs that touch it.
std::vector<float> deconvolve_naively(const Case& c, const Shape& out, const Tensor& x, const Tensor& w) {
  auto xs = x.data<float>(), ws = w.data<float>();
  std::int64_t in_group = c.channels / c.groups, out_group = c.out_channels / c.groups;
  std::vector<float> y;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t o = 0; o < out[1]; ++o)
      for (std::int64_t oy = 0; oy < out[2]; ++oy)
        for (std::int64_t ox = 0; ox < out[3]; ++ox) {
          float sum = 0;
          for (std::int64_t ky = 0; ky < c.kernel; ++ky)
            for (std::int64_t kx = 0; kx < c.kernel; ++kx)
              for (std::int64_t i = 0; i < in_group; ++i) {
                std::int64_t py = oy + c.paddings[0] - ky * c.dilations[0];
                std::int64_t px = ox + c.paddings[2] - kx * c.dilations[1];
                if (py < 0 || px < 0 || py % c.strides[0] != 0 || px % c.strides[1] != 0) continue;
                std::int64_t iy = py / c.strides[0], ix = px / c.strides[1];
                if (iy >= c.height || ix >= c.width) continue;
                std::int64_t channel = o / out_group * in_group + i;
                auto weight = ((channel * out_group + o % out_group) * c.kernel + ky) * c.kernel + kx;
                auto input = ((n * c.channels + channel) * c.height + iy) * c.width + ix;
                sum =
                    std::fma(ws[static_cast<std::size_t>(weight)], xs[static_cast<std::size_t>(input)], sum);
              }
          y.push_back(sum);
        }
  return y;
}

TEST(Conv2dTranspose, IsTheSumInItsOrderToTheBit) {
  const Case cases[] = {
      {3, 4, 1, 5, 6, 2, {2, 2}, {0, 0, 0, 0}, {1, 1}, {}},      // PP-OCR's
      {4, 6, 2, 5, 4, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}, {}},      //
      {2, 2, 1, 6, 5, 4, {2, 3}, {1, 2, 0, 1}, {1, 1}, {}},      //
      {2, 3, 1, 4, 4, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}, {1, 1}},  //
      {2, 2, 2, 4, 5, 3, {2, 1}, {0, 0, 1, 1}, {2, 3}, {}},      // dilated
      {1, 2, 1, 4, 4, 1, {3, 3}, {0, 0, 0, 0}, {1, 1}, {2, 0}},  // outputs that nothing touches
      {1, 1, 1, 70, 3, 2, {2, 2}, {1, 1, 1, 1}, {1, 1}, {}},     // several tasks for a plane
  };
  for (const Case& c : cases) {
    Tensor x = random_floats({2, c.channels, c.height, c.width}, 1);
    Tensor w = random_floats({c.channels, c.out_channels / c.groups, c.kernel, c.kernel}, 2);
    Attrs attrs = {{"strides", c.strides},
                   {"paddings", c.paddings},
                   {"dilations", c.dilations},
                   {"groups", c.groups},
                   {"output_padding", c.output_padding}};
    for (int threads : {1, 3}) {
      Tensor y = run_node("conv2d_transpose", {x, w}, attrs, threads);
      ASSERT_EQ(values<float>(y), deconvolve_naively(c, y.shape(), x, w)) << "case " << &c - cases;
    }
  }
}

TEST(Conv2dTranspose, SpreadsOneNumberOverTheKernel) {
  Tensor x = Tensor::of<float>({1, 1, 1, 2}, {1, 10});
  Tensor w = Tensor::of<float>({1, 1, 1, 2}, {3, 4});
  Tensor bias = Tensor::of<float>({1}, {100});
  EXPECT_THAT(values<float>(run_node("conv2d_transpose", {x, w, bias}, {{"strides", Ints{1, 2}}})),
              ElementsAre(103, 104, 130, 140));
  EXPECT_THAT(values<float>(run_node("conv2d_transpose", {x, w, bias}, {{"strides", Ints{1, 1}}})),
              ElementsAre(103, 134, 140));
}

TEST(Conv2dTranspose, OutputSizeDecides) {
  Tensor x = random_floats({1, 1, 3, 3}, 1), w = random_floats({1, 1, 3, 3}, 2);
  Attrs attrs = {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}, {"output_size", Ints{6, 5}}};
  EXPECT_EQ(run_node("conv2d_transpose", {x, w}, attrs).shape(), (Shape{1, 1, 6, 5}));
}

}  // namespace
}  // namespace octet
