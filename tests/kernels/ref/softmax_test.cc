#include <gmock/gmock.h>

#include <cmath>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::run_node;
using testing::values;

TEST(RefSoftmax, AlongEveryAxis) {
  Tensor x(DType::kFloat32, {3, 4, 5});
  for (std::size_t i = 0; float& v : x.mutable_data<float>()) v = std::sin(static_cast<float>(i++)) * 6;
  const std::size_t sizes[] = {3, 4, 5}, strides[] = {20, 5, 1};
  for (std::int64_t axis : {0, 1, 2, -1}) {
    std::size_t n = sizes[(axis + 3) % 3], stride = strides[(axis + 3) % 3];
    Tensor y = run_node("softmax", {x}, {{"axis", axis}}, 2);
    for (std::size_t i = 0; i < 60; ++i) {
      std::size_t first = i - i / stride % n * stride;
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum += std::exp(static_cast<double>(x.data<float>()[first + k * stride]));
      EXPECT_NEAR(y.data<float>()[i], std::exp(static_cast<double>(x.data<float>()[i])) / sum, 1e-6) << axis;
    }
  }
}

TEST(RefSoftmax, IsStable) {
  EXPECT_THAT(values<float>(run_node("softmax", {Tensor::of<float>({3}, {1000, 1000, -1000})})),
              ::testing::ElementsAre(0.5f, 0.5f, 0));
  EXPECT_THAT(values<float>(run_node("softmax", {Tensor::scalar(-7.0f)})), ::testing::ElementsAre(1));
  EXPECT_EQ(run_node("softmax", {Tensor(DType::kFloat32, {0, 4})}).size(), 0);
  EXPECT_EQ(run_node("softmax", {Tensor(DType::kFloat32, {4, 0})}).size(), 0);
}

// Each of the small terms alone would vanish in a float sum.
TEST(RefSoftmax, SumsInDouble) {
  std::vector<float> x(100001, -17);
  x[0] = 0;
  float largest = values<float>(run_node("softmax", {Tensor::of<float>({100001}, x)}))[0];
  EXPECT_NEAR(largest, 1 / (1 + 1e5 * std::exp(-17.0)), 1e-6);
}

TEST(RefSoftmax, Logarithm) {
  Tensor x = Tensor::of<float>({2, 2}, {1, 1, 1000, 0});
  std::vector<float> y = values<float>(run_node("log_softmax", {x}));
  EXPECT_NEAR(y[0], -std::log(2.0f), 1e-6);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], -1000) << "where the softmax itself is 0";
}

}  // namespace
}  // namespace octet
