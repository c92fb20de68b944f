#include <gmock/gmock.h>

#include <cmath>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::run_node;
using testing::values;

Tensor counting(Shape shape, float next = 0) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

TEST(RefGroupNorm, NormalizesGroupsAndScalesChannels) {
  Tensor x = Tensor::of<float>({1, 4, 2}, {1, 3, 5, 7, 2, 2, 2, 2});
  Tensor scale = Tensor::of<float>({4}, {1, 2, 1, 1}), bias = Tensor::of<float>({4}, {0, 10, 1, 2});
  Attrs attrs{{"groups", 2}, {"epsilon", 0.0}};
  float r = 1 / std::sqrt(5.0f);
  EXPECT_THAT(values<float>(run_node("group_norm", {counting({1, 2, 4}, 1)}, {{"groups", 2}})).size(), 8u);
  attrs["epsilon"] = 1e-12;
  EXPECT_THAT(values<float>(run_node("group_norm", {x, scale, bias}, attrs, 2)),
              Pointwise(FloatNear(1e-5f), {-3 * r, -1 * r, 2 * r + 10, 6 * r + 10, 1.0f, 1.0f, 2.0f, 2.0f}));
}

TEST(RefGroupNorm, OneGroupAChannelByDefault) {
  Tensor x = Tensor::of<float>({1, 2, 2}, {1, 3, 10, 30});
  EXPECT_THAT(values<float>(run_node("group_norm", {x}, {{"epsilon", 0.0}})),
              Pointwise(FloatNear(1e-6f), {-1.0f, 1.0f, -1.0f, 1.0f}));
  EXPECT_THAT(error_of([&] { run_node("group_norm", {x}, {{"groups", 3}}); }), HasSubstr("3 groups"));
}

TEST(RefLrn, DividesByTheSquaresOfNeighbours) {
  Tensor x = Tensor::of<float>({1, 3, 1}, {1, 2, 3});
  Attrs attrs{{"size", 3}, {"alpha", 3.0}, {"beta", 0.5}, {"bias", 1.0}};
  EXPECT_THAT(values<float>(run_node("lrn", {x}, attrs)),
              Pointwise(FloatNear(1e-6f), {1 / std::sqrt(6.0f), 2 / std::sqrt(15.0f), 3 / std::sqrt(14.0f)}));
  attrs["size"] = 2;  // the larger half lies behind
  EXPECT_NEAR(values<float>(run_node("lrn", {x}, attrs))[2], 3 / std::sqrt(1 + 1.5f * 9), 1e-6);
}

}  // namespace
}  // namespace octet
