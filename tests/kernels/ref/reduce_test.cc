#include <gmock/gmock.h>

#include <limits>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::Ints;
using testing::run_node;
using testing::values;

Tensor counting(Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float next = 0; float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

TEST(RefReduce, OverAnyDims) {
  Tensor x = counting({2, 3, 4});
  auto sum = [&](Ints axes) { return values<float>(run_node("reduce_sum", {x}, {{"axes", axes}}, 2)); };
  EXPECT_THAT(sum({}), ElementsAre(276));
  EXPECT_THAT(sum({2}), ElementsAre(6, 22, 38, 54, 70, 86));
  EXPECT_THAT(sum({0}), ElementsAre(12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34));
  EXPECT_THAT(sum({1}), ElementsAre(12, 15, 18, 21, 48, 51, 54, 57));
  EXPECT_THAT(sum({0, 2}), ElementsAre(60, 92, 124));
  EXPECT_THAT(sum({-1, 1}), ElementsAre(66, 210));
}

TEST(RefReduce, MeanAndMax) {
  Tensor x = Tensor::of<float>({2, 2}, {-4, -1, -3, -5});
  EXPECT_THAT(values<float>(run_node("reduce_mean", {x}, {{"axes", Ints{1}}})), ElementsAre(-2.5f, -4));
  EXPECT_THAT(values<float>(run_node("reduce_mean", {x})), ElementsAre(-3.25f));
  EXPECT_THAT(values<float>(run_node("reduce_max", {x}, {{"axes", Ints{0}}})), ElementsAre(-3, -1));
  EXPECT_THAT(values<float>(run_node("reduce_mean", {Tensor::scalar(5.0f)})), ElementsAre(5));
}

TEST(RefReduce, Integers) {
  Tensor x = Tensor::of<std::int32_t>({3}, {-4, -1, -3}), y = Tensor::of<std::int64_t>({2}, {1LL << 40, 5});
  EXPECT_THAT(values<std::int32_t>(run_node("reduce_sum", {x})), ElementsAre(-8));
  EXPECT_THAT(values<std::int32_t>(run_node("reduce_max", {x})), ElementsAre(-1));
  EXPECT_THAT(values<std::int64_t>(run_node("reduce_sum", {y})), ElementsAre((1LL << 40) + 5));
}

TEST(RefReduce, NothingSumsToZero) {
  EXPECT_THAT(values<float>(run_node("reduce_sum", {Tensor(DType::kFloat32, {2, 0})}, {{"axes", Ints{1}}})),
              ElementsAre(0, 0));
  EXPECT_THAT(
      values<float>(run_node("reduce_sum", {Tensor(DType::kFloat32, {0, 2, 3})}, {{"axes", Ints{0, 2}}})),
      ElementsAre(0, 0));
}

TEST(RefReduce, SumsInDouble) {
  Tensor x = Tensor::of<float>({4}, {1e8f, 1, 1, -1e8f});
  EXPECT_THAT(values<float>(run_node("reduce_sum", {x})), ElementsAre(2));
}

TEST(RefReduce, LeastAndProduct) {
  Tensor x = Tensor::of<float>({2, 2}, {3, -1, 2, 5});
  EXPECT_THAT(values<float>(run_node("reduce_min", {x}, {{"axes", Ints{1}}})), ElementsAre(-1, 2));
  EXPECT_THAT(values<float>(run_node("reduce_prod", {x}, {{"axes", Ints{0}}})), ElementsAre(6, -5));
  Tensor axes = Tensor::of<std::int64_t>({1}, {-1});
  EXPECT_THAT(values<float>(run_node("reduce_sum", {x, axes})), ElementsAre(2, 7)) << "axes from an input";
  Tensor none = Tensor::of<float>({0, 2}, {});
  Attrs rows{{"axes", Ints{0}}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(values<float>(run_node("reduce_min", {none}, rows)), ElementsAre(kInfinity, kInfinity));
  EXPECT_THAT(values<float>(run_node("reduce_max", {none}, rows)), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(values<float>(run_node("reduce_prod", {none}, rows)), ElementsAre(1, 1));
  Tensor bytes = Tensor::of<std::uint8_t>({3}, {200, 3, 2});
  EXPECT_THAT(values<std::uint8_t>(run_node("reduce_prod", {bytes})), ElementsAre(176)) << "wraps around";
  EXPECT_THAT(values<std::uint8_t>(run_node("reduce_min", {bytes})), ElementsAre(2));
  Tensor flags(DType::kBool, {2});
  flags.mutable_data<bool>()[0] = true;
  flags.mutable_data<bool>()[1] = false;
  EXPECT_THAT(values<bool>(run_node("reduce_max", {flags})), ElementsAre(true));
  EXPECT_THAT(values<bool>(run_node("reduce_min", {flags})), ElementsAre(false));
}

}  // namespace
}  // namespace octet
