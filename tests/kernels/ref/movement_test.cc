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

TEST(RefMovement, Expand) {
  Tensor x = Tensor::of<float>({2, 1}, {1, 2});
  Tensor y = run_node("expand", {x}, {{"shape", Ints{2, 1, 3}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(values<float>(y), ElementsAre(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
  Tensor shape = Tensor::of<std::int64_t>({1}, {1});
  EXPECT_EQ(run_node("expand", {x, shape}).shape(), (Shape{2, 1})) << "as in numpy, x may be the larger one";
  EXPECT_EQ(run_node("expand", {x}, {{"shape", Ints{-1, 2}}}).shape(), (Shape{2, 2}));
  EXPECT_THAT(error_of([&] { run_node("expand", {x}, {{"shape", Ints{3, 1}}}); }), HasSubstr("do not fit"));
  EXPECT_THAT(error_of([&] {
                run_node("expand", {x}, {{"shape", Ints{1 << 20, 1, 1 << 20}}});
              }),
              HasSubstr("has more than"));
}

TEST(RefMovement, Tile) {
  Tensor x = Tensor::of<std::int16_t>({2, 2}, {1, 2, 3, 4});
  Tensor y = run_node("tile", {x, Tensor::of<std::int64_t>({2}, {2, 1})});
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_THAT(values<std::int16_t>(y), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(values<std::int16_t>(run_node("tile", {x}, {{"repeats", Ints{1, 2}}})),
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  EXPECT_EQ(run_node("tile", {x}, {{"repeats", Ints{1, 0}}}).shape(), (Shape{2, 0}));
  EXPECT_THAT(error_of([&] { run_node("tile", {x}, {{"repeats", Ints{2}}}); }), HasSubstr("1 repeats for 2"));
  EXPECT_THAT(error_of([&] {
                run_node("tile", {x}, {{"repeats", Ints{1 << 20, 1 << 20}}});
              }),
              HasSubstr("has more than"));
  EXPECT_THAT(error_of([&] {
                run_node("tile", {x}, {{"repeats", Ints{1, INT64_MAX}}});
              }),
              HasSubstr("cannot be repeated"));
}

TEST(RefMovement, DepthToSpaceAndBack) {
  Tensor x(DType::kFloat32, {1, 8, 1, 1});
  for (float next = 0; float& v : x.mutable_data<float>()) v = next++;
  Attrs depth{{"block", 2}}, channel{{"block", 2}, {"order", "channel_first"}};
  Tensor y = run_node("depth_to_space", {x}, depth);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(values<float>(run_node("depth_to_space", {x}, channel)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  Tensor image(DType::kFloat32, {2, 3, 4, 6});
  for (float next = 0; float& v : image.mutable_data<float>()) v = next++;
  for (const Attrs& attrs : {depth, channel}) {
    Tensor deep = run_node("space_to_depth", {image}, attrs);
    EXPECT_EQ(deep.shape(), (Shape{2, 12, 2, 3}));
    EXPECT_EQ(values<float>(run_node("depth_to_space", {deep}, attrs)), values<float>(image));
  }
  EXPECT_THAT(error_of([&] { run_node("depth_to_space", {x}, {{"block", 3}}); }), HasSubstr("no multiple"));
}

}  // namespace
}  // namespace octet
