#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;
using testing::run_node;
using testing::run_node_multi;
using testing::values;

Tensor bools(Shape shape, const std::vector<bool>& list) {
  Tensor tensor(DType::kBool, std::move(shape));
  for (std::size_t i = 0; i < list.size(); ++i) tensor.mutable_data<bool>()[i] = list[i];
  return tensor;
}

TEST(RefLogic, Compares) {
  Tensor x = Tensor::of<float>({3}, {1, 2, NAN}), y = Tensor::of<float>({3}, {2, 2, NAN});
  EXPECT_THAT(values<bool>(run_node("equal", {x, y})), ElementsAre(false, true, false));
  EXPECT_THAT(values<bool>(run_node("less", {x, y})), ElementsAre(true, false, false));
  EXPECT_THAT(values<bool>(run_node("less_equal", {x, y})), ElementsAre(true, true, false));
  Tensor small = Tensor::of<std::uint8_t>({2, 1}, {200, 3}), row = Tensor::of<std::uint8_t>({2}, {3, 250});
  Tensor z = run_node("less", {small, row});
  EXPECT_EQ(z.shape(), (Shape{2, 2}));
  EXPECT_THAT(values<bool>(z), ElementsAre(false, true, false, true));
  Tensor large = Tensor::of<std::int64_t>({1}, {(std::int64_t{1} << 60) + 1}),
         other = Tensor::of<std::int64_t>({1}, {std::int64_t{1} << 60});
  EXPECT_THAT(values<bool>(run_node("equal", {large, other})), ElementsAre(false)) << "not by way of floats";
  EXPECT_THAT(values<bool>(run_node("equal", {bools({2}, {true, false}), bools({2}, {true, true})})),
              ElementsAre(true, false));
  EXPECT_THAT(error_of([&] {
                run_node("less", {bools({1}, {true}), bools({1}, {true})});
              }),
              HasSubstr("x is bool"));
}

TEST(RefLogic, Logic) {
  Tensor x = bools({4}, {true, true, false, false}), y = bools({4}, {true, false, true, false});
  EXPECT_THAT(values<bool>(run_node("logical_and", {x, y})), ElementsAre(true, false, false, false));
  EXPECT_THAT(values<bool>(run_node("logical_or", {x, y})), ElementsAre(true, true, true, false));
  EXPECT_THAT(values<bool>(run_node("logical_xor", {x, y})), ElementsAre(false, true, true, false));
  EXPECT_THAT(values<bool>(run_node("logical_not", {x})), ElementsAre(false, false, true, true));
}

TEST(RefLogic, Where) {
  Tensor condition = bools({2, 1}, {true, false});
  Tensor x = Tensor::of<std::int64_t>({3}, {1, 2, 3}), y = Tensor::scalar<std::int64_t>(-1);
  Tensor z = run_node("where", {condition, x, y}, {}, 2);
  EXPECT_EQ(z.shape(), (Shape{2, 3}));
  EXPECT_THAT(values<std::int64_t>(z), ElementsAre(1, 2, 3, -1, -1, -1));
  EXPECT_THAT(error_of([&] {
                run_node("where", {condition, x, Tensor::scalar(1.0f)});
              }),
              HasSubstr("y is float32, expected int64"));
}

}  // namespace
}  // namespace octet
