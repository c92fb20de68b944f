#include <gtest/gtest.h>

#include <cmath>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::run_node;

TEST(RefBatchNorm, NormalisesEachChannel) {
  for (Shape shape : {Shape{2, 3}, Shape{2, 3, 5}, Shape{2, 3, 4, 5}, Shape{1, 3, 2, 2, 2}}) {
    Tensor x(DType::kFloat32, shape);
    for (std::size_t i = 0; float& v : x.mutable_data<float>()) v = std::sin(static_cast<float>(i++)) * 4;
    Tensor scale = Tensor::of<float>({3}, {1, -2, 0.5f}), bias = Tensor::of<float>({3}, {0, 1, 2});
    Tensor mean = Tensor::of<float>({3}, {0.1f, -3, 2}), variance = Tensor::of<float>({3}, {1, 0.25f, 0});
    Tensor y = run_node("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", 0.01}}, 2);
    ASSERT_EQ(y.shape(), shape);
    auto plane = static_cast<std::size_t>(x.size() / (shape[0] * 3));
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
      std::size_t c = i / plane % 3;
      double expected = (x.data<float>()[i] - mean.data<float>()[c]) /
                            std::sqrt(variance.data<float>()[c] + 0.01) * scale.data<float>()[c] +
                        bias.data<float>()[c];
      EXPECT_NEAR(y.data<float>()[i], expected, 2e-5) << i;
    }
  }
}

// The formula of docs/ops.md to the bit: the factor and the offset are rounded first, then one fused
// multiply-add.
TEST(RefBatchNorm, IsDefinedToTheBit) {
  auto one = [](float v) { return Tensor::of<float>({1}, {v}); };
  float x = 1.2345678f, scale = 0.3f, bias = 0.7f, mean = 0.1f, variance = 3.3f;
  float a = scale / std::sqrt(variance + 1e-5f), b = bias - mean * a;
  Tensor y = run_node("batch_norm",
                      {Tensor::of<float>({1, 1}, {x}), one(scale), one(bias), one(mean), one(variance)});
  EXPECT_EQ(y.data<float>()[0], std::fma(x, a, b));
}

}  // namespace
}  // namespace octet
