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

TEST(RefCumsum, RunsBothWays) {
  Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values<float>(run_node("cumsum", {x})), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(values<float>(run_node("cumsum", {x}, {{"axis", 0}})), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(values<float>(run_node("cumsum", {x}, {{"exclusive", true}})), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(values<float>(run_node("cumsum", {x}, {{"reverse", true}})), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(values<float>(run_node("cumsum", {x}, {{"reverse", true}, {"exclusive", true}})),
              ElementsAre(5, 3, 0, 11, 6, 0));
  Tensor bytes = Tensor::of<std::uint8_t>({2}, {200, 100}), axis = Tensor::scalar<std::int32_t>(0);
  EXPECT_THAT(values<std::uint8_t>(run_node("cumsum", {bytes, axis})), ElementsAre(200, 44)) << "wraps";
}

}  // namespace
}  // namespace octet
