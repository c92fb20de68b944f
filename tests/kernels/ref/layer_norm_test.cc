#include <gmock/gmock.h>

#include <cmath>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::run_node;
using testing::values;

Tensor waves(Shape shape, float offset) {
  Tensor x(DType::kFloat32, std::move(shape));
  for (std::size_t i = 0; float& v : x.mutable_data<float>())
    v = std::sin(static_cast<float>(i++)) * 3 + offset;
  return x;
}

TEST(RefLayerNorm, HasMeanZeroAndVarianceOne) {
  Tensor x = waves({4, 3, 50}, 1000);  // far from 0, where a sloppy variance cancels
  for (std::int64_t axis : {1, 2}) {
    Tensor y = run_node("layer_norm", {x}, {{"begin_norm_axis", axis}, {"epsilon", 0.0}}, 2);
    std::size_t size = axis == 1 ? 150 : 50;
    for (std::size_t row = 0; row < 600 / size; ++row) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < size; ++i) {
        double v = y.data<float>()[row * size + i];
        sum += v;
        squares += v * v;
      }
      EXPECT_NEAR(sum / static_cast<double>(size), 0, 2e-4);
      EXPECT_NEAR(squares / static_cast<double>(size), 1, 2e-4);
    }
  }
}

TEST(RefLayerNorm, ScaleBiasAndEpsilon) {
  Tensor x = Tensor::of<float>({1, 2}, {1, 3});  // mean 2, variance 1
  Tensor scale = Tensor::of<float>({2}, {10, 20}), bias = Tensor::of<float>({2}, {0.5f, 0.25f});
  Attrs attrs{{"epsilon", 3.0}};  // the deviation is then 2
  EXPECT_THAT(values<float>(run_node("layer_norm", {x}, attrs)), ::testing::ElementsAre(-0.5f, 0.5f));
  EXPECT_THAT(values<float>(run_node("layer_norm", {x, scale}, attrs)), ::testing::ElementsAre(-5, 10));
  EXPECT_THAT(values<float>(run_node("layer_norm", {x, Tensor(), bias}, attrs)),
              ::testing::ElementsAre(0, 0.75f));
  EXPECT_THAT(values<float>(run_node("layer_norm", {x, scale, bias}, attrs)),
              ::testing::ElementsAre(-4.5f, 10.25f));
}

TEST(RefLayerNorm, StatisticsAndNoCentre) {
  Tensor x = Tensor::of<float>({2, 2}, {1, 3, 3, 4});
  auto found = testing::run_node_multi("layer_norm", {x}, {{"epsilon", 0.0}}, 3);
  EXPECT_EQ(found[1].shape(), (Shape{2, 1}));
  EXPECT_EQ(values<float>(found[1]), (std::vector<float>{2, 3.5f}));
  EXPECT_EQ(values<float>(found[2]), (std::vector<float>{1, 2}));
  float root = std::sqrt(5.0f);
  std::vector<float> y = values<float>(run_node("layer_norm", {x}, {{"epsilon", 0.0}, {"centered", false}}));
  EXPECT_NEAR(y[0], 1 / root, 1e-6);
  EXPECT_NEAR(y[1], 3 / root, 1e-6);
}

}  // namespace
}  // namespace octet
