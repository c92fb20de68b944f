#include "train/bilinear.h"

#include <gtest/gtest.h>

namespace octet::train {
namespace {

// As at::upsample_bilinear2d has it: half-pixel centres.
std::vector<ref::ResizePoint> points(std::int64_t in, std::int64_t out) {
  std::vector<ref::ResizePoint> result;
  for (std::int64_t i = 0; i < out; ++i) {
    const double at = std::max(
        (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5, 0.0);
    const auto first = static_cast<std::int64_t>(at);
    const auto weight = static_cast<float>(at - static_cast<double>(first));
    result.push_back({first, std::min(first + 1, in - 1), 1 - weight, weight});
  }
  return result;
}

TEST(BilinearTraining, EqualsLibtorchsInAllMemoryOrders) {
  for (const std::int64_t channels : {1, 3, 40})
    for (const auto& [height, width] : {std::array<std::int64_t, 2>{20, 31}, {3, 4}, {1, 9}})
      for (const at::MemoryFormat order : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        const at::Tensor x = at::randn({2, channels, 5, 7}).contiguous(order).set_requires_grad(true);
        const at::Tensor expected = at::upsample_bilinear2d(x, {height, width}, false);
        const at::Tensor y = bilinear(x, {true, points(5, height), points(7, width)});
        EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-5)) << channels;
        const at::Tensor factors = at::randn(y.sizes());
        (expected * factors).sum().backward();
        const at::Tensor gradient = x.grad().clone();
        x.mutable_grad().zero_();
        (y * factors).sum().backward();
        EXPECT_TRUE(at::allclose(x.grad(), gradient, 1e-4, 1e-5)) << channels;
      }
}

TEST(BilinearTraining, OfBfloat16IsThatOfTheSameFloatsRounded) {
  for (const std::int64_t channels : {3, 40}) {
    const at::Tensor low = at::randn({2, channels, 5, 7}).to(at::kBFloat16).set_requires_grad(true),
                     x = low.detach().to(at::kFloat).set_requires_grad(true);
    const ref::ResizePlan plan{true, points(5, 20), points(7, 31)};
    const at::Tensor y = bilinear(x, plan), low_y = bilinear(low, plan);
    EXPECT_TRUE(at::equal(low_y, y.to(at::kBFloat16)));
    const at::Tensor factors = at::randn(y.sizes()).to(at::kBFloat16);
    y.backward(factors.to(at::kFloat));
    low_y.backward(factors);
    EXPECT_TRUE(at::equal(low.grad(), x.grad().to(at::kBFloat16)));
  }
}

}  // namespace
}  // namespace octet::train
