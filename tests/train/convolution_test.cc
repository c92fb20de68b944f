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

TEST(TrainConvolution, WeightGradientsOfLargePictures) {
  expect_as_torch({32, 8, 9, 11, 3, 3, {.padding = {1, 1}}});
}

}  // namespace

}  // namespace octet::train
