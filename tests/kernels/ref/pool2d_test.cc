#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::Ints;
using testing::run_node;
using testing::values;

Tensor row(const std::vector<float>& numbers) {
  return Tensor::of<float>({1, 1, 1, static_cast<std::int64_t>(numbers.size())}, numbers);
}

Attrs pool(const char* type, std::int64_t kernel, std::int64_t stride, Ints paddings, Attrs more = {}) {
  Attrs attrs = {{"type", std::string(type)},
                 {"kernel", Ints{1, kernel}},
                 {"strides", Ints{1, stride}},
                 {"paddings", std::move(paddings)}};
  attrs.merge(more);
  return attrs;
}

TEST(Pool2d, TakesTheLargest) {
  Tensor x = Tensor::of<float>({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6});
  Attrs attrs = {{"kernel", Ints{2, 2}}};
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, attrs, 2)), ElementsAre(5, 6, -1, -2));
  // Padding never wins.
  EXPECT_THAT(values<float>(run_node("pool2d", {row({-5, -7})}, pool("max", 3, 1, {0, 0, 1, 1}))),
              ElementsAre(-5, -5));
}

TEST(Pool2d, AveragesInsideTheImageUnlessToldOtherwise) {
  Tensor x = row({1, 2, 3, 4});
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 3, 1, {0, 0, 1, 1}))),
              ElementsAre(1.5, 2, 3, 3.5));
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 3, 1, {0, 0, 1, 1}, {{"exclusive", false}}))),
              ElementsAre(1, 2, 3, 7.0f / 3));
}

TEST(Pool2d, CeilModeAddsTheLastWindow) {
  Tensor x = row({1, 2, 3, 4, 5});
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 2, 2, {0, 0, 0, 0}))), ElementsAre(1.5, 3.5));
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 2, 2, {0, 0, 0, 0}, {{"ceil_mode", true}}))),
              ElementsAre(1.5, 3.5, 5));
  // What lies beyond in + padding does not count, although the window goes on.
  EXPECT_THAT(
      values<float>(run_node("pool2d", {x},
                             pool("avg", 2, 2, {0, 0, 0, 0}, {{"ceil_mode", true}, {"exclusive", false}}))),
      ElementsAre(1.5, 3.5, 5));
}

TEST(Pool2d, AWindowOutsideTheImageIsEmpty) {
  // Kernel 1, stride 3 on 5 columns: with ceil_mode the last window starts at column 6.
  Tensor x = row({1, 2, 3, 4, 5});
  Attrs ceil = {{"ceil_mode", true}};
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 1, 3, {0, 0, 0, 0}, ceil))),
              ElementsAre(1, 4, 0));
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("max", 1, 3, {0, 0, 0, 0}, ceil))),
              ElementsAre(1, 4, std::numeric_limits<float>::lowest()));
}

TEST(Pool2d, AdaptiveWindowsOverlap) {
  Tensor x = row({1, 2, 3, 4, 5});
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("avg", 3, 1, {0, 0, 0, 0}, {{"adaptive", true}}))),
              ElementsAre(1.5, 3, 4.5));
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, pool("max", 2, 1, {0, 0, 9, 9}, {{"adaptive", true}}))),
              ElementsAre(3, 5));
  // More outputs than inputs.
  EXPECT_THAT(
      values<float>(run_node("pool2d", {row({1, 2})}, pool("avg", 3, 1, {0, 0, 0, 0}, {{"adaptive", true}}))),
      ElementsAre(1, 1.5, 2));
}

TEST(Pool2d, GlobalTakesThePlane) {
  Tensor x = Tensor::of<float>({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  Attrs attrs = {{"type", std::string("avg")}, {"global", true}, {"paddings", Ints{1, 1, 1, 1}}};
  Tensor y = run_node("pool2d", {x}, attrs);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1}));
  EXPECT_THAT(values<float>(y), ElementsAre(2.5, 25));
}

TEST(Pool2d, SamePadding) {
  EXPECT_THAT(values<float>(run_node("pool2d", {row({1, 2, 3, 4})},
                                     pool("avg", 3, 2, {0, 0, 0, 0}, {{"auto_pad", std::string("same")}}))),
              ElementsAre(2, 3.5));
}

TEST(RefPool2d, TheWayOfOnnx) {
  Tensor x = Tensor::of<float>({1, 1, 1, 3}, {1, 2, 3});
  Attrs attrs{{"type", "avg"},         {"kernel", Ints{1, 2}},
              {"strides", Ints{1, 2}}, {"paddings", Ints{0, 0, 0, 1}},
              {"exclusive", false},    {"convention", "onnx"}};
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, attrs)), ElementsAre(1.5f, 1.5f)) << "the padding counts";
  attrs["convention"] = "paddle";
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, attrs)), ElementsAre(1.5f, 3))
      << "cut by the padding before";
  Tensor two = Tensor::of<float>({1, 1, 1, 2}, {1, 2});
  Attrs ceil{{"kernel", Ints{1, 1}}, {"strides", Ints{1, 2}}, {"ceil_mode", true}, {"convention", "onnx"}};
  EXPECT_THAT(values<float>(run_node("pool2d", {two}, ceil)), ElementsAre(1))
      << "the second begins behind it";
}

TEST(RefPool2d, PadsOnOneSideMore) {
  Tensor x = Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  Attrs attrs{{"type", "avg"}, {"kernel", Ints{1, 2}}, {"auto_pad", "same_upper"}};
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, attrs)), ElementsAre(1.5f, 2.5f, 3.5f, 4));
  attrs["auto_pad"] = "same_lower";
  EXPECT_THAT(values<float>(run_node("pool2d", {x}, attrs)), ElementsAre(1, 1.5f, 2.5f, 3.5f));
}

}  // namespace
}  // namespace octet
