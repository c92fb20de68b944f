#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::run_node;
using testing::values;

TEST(RefArgMax, AlongAnAxis) {
  Tensor x = Tensor::of<float>({2, 3, 2}, {1, 9, 5, 2, 5, 3, -1, -9, -5, -2, -5, -3});
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {x}, {{"axis", 1}}, 2)), ElementsAre(1, 0, 0, 1))
      << "the first of equal ones";
  EXPECT_THAT(values<std::int32_t>(run_node("arg_max", {x}, {{"axis", -1}, {"dtype", "int32"}})),
              ElementsAre(1, 0, 0, 0, 1, 1));
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {x}, {{"axis", 0}})), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {x}, {{"flatten", true}})), ElementsAre(1));
}

TEST(RefArgMax, AxisFromAnInput) {
  Tensor x = Tensor::of<std::int32_t>({2, 2}, {1, 2, 4, 3}), axis = Tensor::of<std::int64_t>({1}, {0});
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {x, axis})), ElementsAre(1, 1));
  EXPECT_EQ(run_node("arg_max", {x, axis}, {{"keepdims", true}}).shape(), (Shape{1, 2}));
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {Tensor::scalar<std::int64_t>(4)})), ElementsAre(0));
}

TEST(RefArgMax, LastAndLeast) {
  Tensor x = Tensor::of<float>({4}, {2, 7, 7, 2});
  EXPECT_THAT(values<std::int64_t>(run_node("arg_max", {x}, {{"last", true}})), ElementsAre(2));
  EXPECT_THAT(values<std::int64_t>(run_node("arg_min", {x})), ElementsAre(0));
  EXPECT_THAT(values<std::int64_t>(run_node("arg_min", {x}, {{"last", true}})), ElementsAre(3));
}

}  // namespace
}  // namespace octet
