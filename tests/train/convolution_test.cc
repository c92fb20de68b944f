#include "train/convolution.h"

#include <gtest/gtest.h>

// The gradients of convolutions against libtorch's own.
namespace octet::train {

namespace {

struct Case {
  std::int64_t inputs, outputs, height, width, kernel_h, kernel_w;
  ConvGeometry geometry;
};

void expect_as_torch(const Case& c) {
  at::manual_seed(1);
  const auto last = at::MemoryFormat::ChannelsLast;
  const auto& [stride, padding, dilation, groups] = c.geometry;
  const at::Tensor x = at::randn({3, c.inputs, c.height, c.width}).contiguous(last);
  const at::Tensor weight = at::randn({c.outputs, c.inputs / groups, c.kernel_h, c.kernel_w})
                                .contiguous(last)
                                .set_requires_grad(true);
  const at::Tensor y = convolution(x, weight, std::nullopt, c.geometry);
  const at::Tensor gradient = at::randn_like(y);
  y.backward(gradient);
  const auto [gx, gw, gb] = at::convolution_backward(
      gradient.to(at::kDouble), x.to(at::kDouble), weight.detach().to(at::kDouble), at::OptionalIntArrayRef(),
      stride, padding, dilation, false, {0, 0}, groups, {false, true, false});
  ASSERT_EQ(weight.grad().sizes(), gw.sizes());
  EXPECT_LT((weight.grad().to(at::kDouble) - gw).abs().max().item<double>(),
            1e-5 * gw.abs().max().item<double>() + 1e-6);
}

TEST(TrainConvolution, WeightGradientsOfSmallPictures) {
  for (std::int64_t size : {1, 2, 3, 4, 5})
    for (std::int64_t stride : {1, 2})
      for (std::int64_t dilation : {1, 2}) {
        const ConvGeometry geometry{
            .stride = {stride, 1}, .padding = {dilation, 2}, .dilation = {dilation, 1}};
        SCOPED_TRACE(fmt::format("size {}, stride {}, dilation {}", size, stride, dilation));
        expect_as_torch({40, 33, size, 2, 3, 5, geometry});
      }
}

TEST(TrainConvolution, WeightGradientsOfDepthwiseKernels) {
  for (std::int64_t size : {2, 7})
    for (std::int64_t stride : {1, 2})
      expect_as_torch({40, 40, size, 9, 3, 5, {.stride = {stride, 2}, .padding = {1, 2}, .groups = 40}});
}

// Both gradients, of bfloat16, against those of the same numbers in double.
void expect_as_double(const Case& c) {
  at::manual_seed(1);
  const auto& [stride, padding, dilation, groups] = c.geometry;
  const at::Tensor x = at::randn({3, c.inputs, c.height, c.width})
                           .to(at::kBFloat16)
                           .contiguous(at::MemoryFormat::ChannelsLast)
                           .set_requires_grad(true);
  const at::Tensor weight = at::randn({c.outputs, c.inputs / groups, c.kernel_h, c.kernel_w})
                                .to(at::kBFloat16)
                                .contiguous(at::MemoryFormat::ChannelsLast)
                                .set_requires_grad(true);
  const at::Tensor bias = at::randn({c.outputs}).to(at::kBFloat16).set_requires_grad(true);
  const at::Tensor y = convolution(x, weight, bias, c.geometry);
  ASSERT_EQ(y.scalar_type(), at::kBFloat16);
  const at::Tensor gradient = at::randn_like(y);
  y.backward(gradient);
  const auto wide = [](const at::Tensor& t) { return t.detach().to(at::kDouble); };
  const auto [gx, gw, gb] =
      at::convolution_backward(wide(gradient), wide(x), wide(weight), c.outputs, stride, padding, dilation,
                               false, {0, 0}, groups, {true, true, true});
  const auto expect_near = [](const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.sizes(), expected.sizes());
    EXPECT_LT((actual.to(at::kDouble) - expected).abs().max().item<double>(),
              0.006 * expected.abs().max().item<double>());
  };
  expect_near(x.grad(), gx);
  expect_near(weight.grad(), gw);
  expect_near(bias.grad(), gb);
}

TEST(TrainConvolution, GradientsInBfloat16) {
  for (const std::int64_t channels : {5, 16, 24, 40})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t dilation : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} channels, stride {}, dilation {}", channels, stride, dilation));
        expect_as_double(
            {channels,
             channels,
             11,
             9,
             3,
             5,
             {.stride = {stride, 2}, .padding = {1, 2}, .dilation = {dilation, 1}, .groups = channels}});
        expect_as_double({channels, 40, 11, 9, 3, 5, {.stride = {stride, 2}, .padding = {1, 2}}});
      }
  expect_as_double({40, 33, 3, 3, 3, 3, {.padding = {1, 1}}});
  expect_as_double({24, 24, 1, 2, 1, 1, {.stride = {2, 2}, .groups = 24}});
}

TEST(TrainConvolution, WeightGradientsOfLargePictures) {
  expect_as_torch({32, 8, 9, 11, 3, 3, {.padding = {1, 1}}});
}

}  // namespace

}  // namespace octet::train
