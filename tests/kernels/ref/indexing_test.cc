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

Tensor indices(Shape shape, const std::vector<std::int64_t>& list) {
  return Tensor::of<std::int64_t>(std::move(shape), list);
}

Tensor counting(Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float next = 0; float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

TEST(RefIndexing, Gather) {
  Tensor x = counting({3, 2});
  Tensor y = run_node("gather", {x, indices({2, 1}, {2, -3})});
  EXPECT_EQ(y.shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(values<float>(run_node("gather", {x, indices({}, {1})}, {{"axis", 1}})), ElementsAre(1, 3, 5));
  EXPECT_THAT(error_of([&] {
                run_node("gather", {x, indices({1}, {3})});
              }),
              HasSubstr("index 3 is out of range for 3 elements"));
  EXPECT_THAT(error_of([&] { run_node("gather", {x, indices({1}, {-4})}); }), HasSubstr("index -4"));
}

TEST(RefIndexing, GatherElements) {
  Tensor x = counting({2, 2});
  EXPECT_THAT(values<float>(run_node("gather_elements", {x, indices({2, 2}, {0, 0, 1, 0})}, {{"axis", 1}})),
              ElementsAre(0, 0, 3, 2));
  EXPECT_THAT(values<float>(run_node("gather_elements", {x, indices({1, 2}, {-1, 0})}, {{"axis", 0}})),
              ElementsAre(2, 1));
  EXPECT_THAT(error_of([&] {
                run_node("gather_elements", {x, indices({1, 3}, {0, 0, 0})});
              }),
              HasSubstr("go beyond x"));
}

TEST(RefIndexing, GatherNd) {
  Tensor x = counting({2, 2, 2});
  EXPECT_THAT(values<float>(run_node("gather_nd", {x, indices({2, 2}, {0, 1, 1, -2})})),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(values<float>(run_node("gather_nd", {x, indices({2, 1}, {1, 0})}, {{"batch_dims", 1}})),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(error_of([&] {
                run_node("gather_nd", {x, indices({1, 4}, {0, 0, 0, 0})});
              }),
              HasSubstr("name 4 dimensions"));
}

TEST(RefIndexing, ScatterElements) {
  Tensor x = counting({1, 4}), updates = Tensor::of<float>({1, 2}, {10, 20});
  EXPECT_THAT(
      values<float>(run_node("scatter_elements", {x, indices({1, 2}, {3, 0}), updates}, {{"axis", 1}})),
      ElementsAre(20, 1, 2, 10));
  auto combined = [&](const char* how) {
    return values<float>(run_node("scatter_elements", {x, indices({1, 2}, {1, 1}), updates},
                                  {{"axis", 1}, {"reduction", how}}));
  };
  EXPECT_THAT(combined("none"), ElementsAre(0, 20, 2, 3));
  EXPECT_THAT(combined("add"), ElementsAre(0, 31, 2, 3));
  EXPECT_THAT(combined("mul"), ElementsAre(0, 200, 2, 3));
  EXPECT_THAT(combined("max"), ElementsAre(0, 20, 2, 3));
  EXPECT_THAT(combined("min"), ElementsAre(0, 1, 2, 3));
}

TEST(RefIndexing, ScatterNd) {
  Tensor x = counting({2, 2});
  EXPECT_THAT(
      values<float>(run_node("scatter_nd", {x, indices({1, 1}, {1}), Tensor::of<float>({1, 2}, {8, 9})})),
      ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(
      values<float>(run_node("scatter_nd", {x, indices({2, 2}, {0, 0, 0, 0}), Tensor::of<float>({2}, {8, 9})},
                             {{"reduction", "add"}})),
      ElementsAre(17, 1, 2, 3));
  EXPECT_THAT(error_of([&] {
                run_node("scatter_nd", {x, indices({1, 1}, {2}), Tensor::of<float>({1, 2}, {8, 9})});
              }),
              HasSubstr("index 2 is out of range"));
}

TEST(RefIndexing, OneHot) {
  Tensor depth = Tensor::scalar<std::int64_t>(3), on_off = Tensor::of<float>({2}, {-1, 5});
  EXPECT_THAT(values<float>(run_node("one_hot", {indices({2}, {1, -1}), depth, on_off})),
              ElementsAre(-1, 5, -1, -1, -1, 5));
  Tensor y = run_node("one_hot", {indices({2}, {0, 3}), depth, on_off}, {{"axis", 0}});
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(5, -1, -1, -1, -1, -1)) << "3 is nowhere";
  EXPECT_THAT(error_of([&] {
                run_node("one_hot", {indices({2}, {0, 0}), Tensor::scalar<std::int64_t>(1 << 28), on_off});
              }),
              HasSubstr("has more than"));
}

}  // namespace
}  // namespace octet
