#include <cmath>
#include <limits>

#include "kernels/fast/layouts.h"

namespace octet {
namespace {

using testing::expect_in_both_layouts;
using testing::Ints;
using testing::random_floats;
using testing::random_int8s;

const std::vector<Shape> kImages = {{1, 1, 1, 1},   {2, 3, 9, 11}, {1, 8, 7, 7},    {1, 16, 8, 9},
                                    {1, 21, 5, 12}, {2, 37, 9, 8}, {1, 50, 10, 10}, {1, 200, 13, 6}};

void expect_pool(Attrs attrs) {
  for (const char* type : {"max", "avg"})
    for (bool exclusive : {true, false})
      for (const Shape& shape : kImages) {
        attrs["type"] = std::string(type);
        attrs["exclusive"] = exclusive;
        expect_in_both_layouts("pool2d", "vector", {random_floats(shape, 3, -8, 8)}, attrs);
        expect_in_both_layouts("qpool2d", "vector", {random_int8s(shape, 3)}, attrs);
      }
}

TEST(FastPool, GlobalAndAdaptive) {
  expect_pool({{"global", true}});
  expect_pool({{"adaptive", true}, {"kernel", Ints{3, 2}}});
  expect_pool({{"adaptive", true}, {"kernel", Ints{1, 1}}});
}

TEST(FastPool, Windows) {
  expect_pool({{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}});
  expect_pool(
      {{"kernel", Ints{2, 3}}, {"strides", Ints{2, 1}}, {"paddings", Ints{1, 0, 2, 1}}, {"ceil_mode", true}});
  expect_pool({{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("same")}});
  expect_pool(
      {{"kernel", Ints{2, 2}}, {"strides", Ints{3, 3}}, {"paddings", Ints{3, 3, 3, 3}}});  // empty ones
}

TEST(FastPool, LargePlanes) {
  for (const Shape& shape : {Shape{1, 24, 56, 56}, Shape{1, 576, 14, 14}, Shape{3, 100, 40, 30}}) {
    for (const char* type : {"max", "avg"}) {
      Attrs attrs = {{"type", std::string(type)}, {"global", true}};
      expect_in_both_layouts("pool2d", "vector", {random_floats(shape, 3, -8, 8)}, attrs);
      expect_in_both_layouts("qpool2d", "vector", {random_int8s(shape, 3)}, attrs);
    }
  }
}

TEST(FastResize, EveryMode) {
  for (const char* mode : {"nearest", "bilinear"})
    for (bool corners : {true, false})
      for (std::int64_t align_mode : {0, 1})
        for (const Shape& shape : kImages)
          for (const Ints& size : {Ints{1, 1}, Ints{5, 4}, Ints{9, 11}, Ints{18, 23}, Ints{40, 33}}) {
            Attrs attrs = {{"mode", std::string(mode)},
                           {"align_corners", corners},
                           {"align_mode", align_mode},
                           {"out_h", size[0]},
                           {"out_w", size[1]}};
            expect_in_both_layouts("resize", "vector", {random_floats(shape, 3, -8, 8)}, attrs);
            expect_in_both_layouts("qresize", "vector", {random_int8s(shape, 3)}, attrs);
          }
}

TEST(FastResize, BySizeAndScale) {
  Attrs bilinear = {{"mode", std::string("bilinear")}};
  Tensor x = random_floats({2, 19, 9, 8}, 3);
  expect_in_both_layouts("resize", "vector", {x, Tensor::of<std::int32_t>({2}, {17, 30})}, bilinear);
  expect_in_both_layouts("resize", "vector", {x, Tensor(), Tensor::of<float>({1}, {2.3f})}, bilinear);
  Tensor side = Tensor::of<std::int32_t>({1}, {20});
  expect_in_both_layouts("resize", "vector", {x, Tensor(), Tensor(), side, side}, bilinear);
  bilinear["scale"] = std::vector<double>{2.0, 3.0};
  expect_in_both_layouts("resize", "vector", {x}, bilinear);
}

// Few distinct numbers, so that the largest ones are often equal; and some that are not numbers.
TEST(FastResizeArgMax, IsThatOfTheReference) {
  for (bool corners : {true, false})
    for (const char* dtype : {"int32", "int64"})
      for (const Shape& shape :
           {Shape{1, 1, 1, 1}, Shape{2, 3, 9, 11}, Shape{1, 19, 8, 40}, Shape{2, 37, 5, 3}})
        for (const Ints& size : {Ints{1, 1}, Ints{4, 5}, Ints{9, 11}, Ints{64, 70}, Ints{33, 320}}) {
          Attrs attrs = {{"mode", std::string("bilinear")},
                         {"align_corners", corners},
                         {"align_mode", std::int64_t{0}},
                         {"out_h", size[0]},
                         {"out_w", size[1]},
                         {"keepdims", corners},
                         {"dtype", std::string(dtype)}};
          Tensor x = random_floats(shape, 3, -8, 8);
          expect_in_both_layouts("resize_arg_max", "vector", {x}, attrs);
          for (float& v : x.mutable_data<float>()) v = std::floor(v / 4);
          x.mutable_data<float>()[x.data<float>().size() / 2] = std::numeric_limits<float>::quiet_NaN();
          x.mutable_data<float>()[0] = -std::numeric_limits<float>::infinity();
          expect_in_both_layouts("resize_arg_max", "vector", {x}, attrs);
        }
}

TEST(FastResizeArgMax, BySizeAndScale) {
  Attrs bilinear = {{"mode", std::string("bilinear")}};
  Tensor x = random_floats({2, 19, 9, 8}, 3);
  expect_in_both_layouts("resize_arg_max", "vector", {x, Tensor::of<std::int32_t>({2}, {17, 30})}, bilinear);
  expect_in_both_layouts("resize_arg_max", "vector", {x, Tensor(), Tensor::of<float>({1}, {2.3f})}, bilinear);
  Tensor side = Tensor::of<std::int32_t>({1}, {20});
  expect_in_both_layouts("resize_arg_max", "vector", {x, Tensor(), Tensor(), side, side}, bilinear);
  bilinear["coordinates"] = std::string("half_pixel");
  bilinear["scale"] = std::vector<double>{2.0, 0.4};
  expect_in_both_layouts("resize_arg_max", "vector", {x}, bilinear);
}

TEST(FastPad, EveryMode) {
  for (const char* mode : {"constant", "reflect", "replicate", "circular"})
    for (const Ints& paddings :
         {Ints{1, 2, 3, 4}, Ints{0, 0, 0, 0}, Ints{-1, 2, 1, -2}, Ints{3, 0, 0, 3, 0, 0}}) {
      Attrs attrs = {{"mode", std::string(mode)}, {"paddings", paddings}, {"value", 1.5}};
      for (const Shape& shape : {Shape{2, 5, 9, 11}, Shape{1, 16, 40, 70}, Shape{2, 3, 4, 5, 6}})
        if (shape.size() == 4 || paddings.size() == 6)
          expect_in_both_layouts("pad", shape.size() == 4 ? "vector" : "ref", {random_floats(shape, 3)},
                                 attrs);
    }
  expect_in_both_layouts("pad", "vector",
                         {random_floats({2, 3, 4, 5}, 3), Tensor::of<std::int32_t>({4}, {1, 2, 3, 4})});
}

}  // namespace
}  // namespace octet
