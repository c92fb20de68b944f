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

TEST(RefTopK, SortsAndTakesTheFirstOfEquals) {
  Tensor x = Tensor::of<float>({2, 4}, {1, 4, 4, 2, NAN, 0, -1, 7});
  auto found = run_node_multi("top_k", {x}, {{"k", 3}}, 2);
  EXPECT_EQ(found[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(values<std::int64_t>(found[1]), ElementsAre(1, 2, 3, 0, 3, 1));
  auto least = run_node_multi("top_k", {x, Tensor::of<std::int64_t>({1}, {2})}, {{"largest", false}}, 2);
  EXPECT_THAT(values<float>(least[0]), ElementsAre(1, 2, -1, 0));
  EXPECT_THAT(values<std::int64_t>(least[1]), ElementsAre(0, 3, 2, 1));
  auto columns = run_node_multi("top_k", {x}, {{"k", 1}, {"axis", 0}, {"largest", false}}, 2);
  EXPECT_THAT(values<std::int64_t>(columns[1]), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(run_node("top_k", {x}, {{"k", 0}}).size(), 0);
  EXPECT_THAT(error_of([&] { run_node("top_k", {x}, {{"k", 5}}); }), HasSubstr("k is 5, the axis has 4"));
}

}  // namespace
}  // namespace octet
