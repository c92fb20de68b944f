#include <limits>

#include "kernels/fast/layouts.h"

namespace octet {
namespace {

using testing::expect_in_both_layouts;
using testing::Ints;
using testing::random_floats;

const std::vector<Shape> kImages = {
    {2, 19, 5, 7}, {1, 64, 9, 9}, {3, 3, 1, 1}, {1, 16, 40, 41}, {2, 130, 2, 3}};

TEST(FastBatchNorm, OfEveryRank) {
  for (const Shape& shape :
       {Shape{2, 19, 5, 7}, Shape{1, 64, 60, 9}, Shape{3, 20}, Shape{2, 9, 11}, Shape{2, 3, 4, 5, 6}}) {
    std::vector<Tensor> inputs = {random_floats(shape, 3, -8, 8)};
    for (std::uint32_t seed : {4, 5, 6, 7}) inputs.push_back(random_floats({shape[1]}, seed, 0.5f, 2));
    expect_in_both_layouts("batch_norm", "vector", inputs, {{"epsilon", 1e-3}}, {1, 2, 3, 4});
    expect_in_both_layouts("batch_norm", "vector", inputs, {}, {1, 2});
  }
}

TEST(FastLayerNorm, OfRows) {
  for (const Shape& shape : {Shape{7, 120}, Shape{2, 5, 19}, Shape{2, 40, 96}, Shape{2, 3, 5, 7}})
    for (std::int64_t axis : {1, -1}) {
      Tensor x = random_floats(shape, 3, -8, 8);
      std::int64_t begin = axis < 0 ? axis + x.rank() : axis, size = 1;
      for (std::int64_t i = begin; i < x.rank(); ++i) size *= shape[static_cast<std::size_t>(i)];
      Attrs attrs = {{"begin_norm_axis", axis}};
      Tensor scale = random_floats({size}, 4), bias = random_floats({size}, 5);
      expect_in_both_layouts("layer_norm", "vector", {x, scale, bias}, attrs, {1, 2});
      expect_in_both_layouts("layer_norm", "vector", {x, Tensor(), bias}, attrs, {2});
      expect_in_both_layouts("layer_norm", "vector", {x}, attrs);
    }
}

TEST(FastSoftmax, EveryAxis) {
  for (const Shape& shape : kImages)
    for (std::int64_t axis : {0, 1, 2, 3, -1})
      expect_in_both_layouts("softmax", "vector", {random_floats(shape, 3, -20, 20)}, {{"axis", axis}});
  for (const Shape& shape : {Shape{1}, Shape{1000}, Shape{6, 1003}, Shape{1, 5, 6625}})
    expect_in_both_layouts("softmax", "vector", {random_floats(shape, 3, -20, 20)});
  Tensor odd = random_floats({4, 20}, 3, -20, 20);
  odd.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  odd.mutable_data<float>()[25] = std::numeric_limits<float>::quiet_NaN();
  // In a row and a column without NaN: inf - inf is a NaN of the other sign, and which of two a sum keeps is
  // the compiler's choice.
  odd.mutable_data<float>()[46] = std::numeric_limits<float>::infinity();
  for (std::int64_t axis : {0, 1}) expect_in_both_layouts("softmax", "vector", {odd}, {{"axis", axis}});
}

TEST(FastReduce, EveryAxis) {
  for (const char* op : {"reduce_mean", "reduce_sum", "reduce_max"})
    for (const Shape& shape : kImages)
      for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{2}, Ints{3}, Ints{2, 3}, Ints{1, 2, 3},
                               Ints{0, 2}, Ints{0, 1}, Ints{1, 3}})
        for (bool keepdims : {false, true})
          expect_in_both_layouts(op, "vector", {random_floats(shape, 3, -20, 20)},
                                 {{"axes", axes}, {"keepdims", keepdims}});
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7, 300}, Shape{2, 3, 4, 5, 6}})
    expect_in_both_layouts("reduce_mean", "vector", {random_floats(shape, 3, -20, 20)}, {{"all", true}});
  expect_in_both_layouts("reduce_mean", "vector", {random_floats({3, 0, 4}, 3)}, {{"axes", Ints{1}}});
  expect_in_both_layouts("reduce_sum", "vector", {random_floats({3, 0, 4}, 3)}, {{"axes", Ints{0}}});
  expect_in_both_layouts("reduce_sum", "ref", {Tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4})},
                         {{"axes", Ints{0}}});
}

TEST(FastArgMax, EveryAxis) {
  for (const Shape& shape : kImages)
    for (std::int64_t axis : {0, 1, 2, 3, -1})
      for (bool keepdims : {false, true})
        for (const char* dtype : {"int32", "int64"}) {
          Tensor x = random_floats(shape, 3);
          for (float& v : x.mutable_data<float>()) v = std::floor(v * 4);  // many that are equal
          expect_in_both_layouts("arg_max", "vector", {x},
                                 {{"axis", axis}, {"keepdims", keepdims}, {"dtype", std::string(dtype)}});
        }
  expect_in_both_layouts("arg_max", "ref", {random_floats({2, 19, 5, 7}, 3)}, {{"flatten", true}});
  Tensor odd = random_floats({4, 20}, 3, -20, 20);
  odd.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  odd.mutable_data<float>()[25] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t axis : {0, 1}) expect_in_both_layouts("arg_max", "vector", {odd}, {{"axis", axis}});
}

}  // namespace
}  // namespace octet
