#include <numeric>

#include "kernels/fast/layouts.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::expect_in_both_layouts;
using testing::Ints;
using testing::random_floats;
using testing::random_int8s;

Tensor numbered(DType dtype, const Shape& shape) {
  Tensor tensor(DType::kInt64, shape);
  std::iota(tensor.mutable_data<std::int64_t>().begin(), tensor.mutable_data<std::int64_t>().end(), 0);
  return tensor.cast(dtype);
}

const std::vector<Shape> kImages = {{1, 1, 5, 7},  {2, 3, 9, 11}, {1, 3, 100, 101}, {2, 8, 16, 8},
                                    {1, 37, 9, 5}, {3, 64, 1, 1}, {1, 4, 33, 3},    {1, 130, 17, 16},
                                    {2, 16, 4, 4}, {1, 3, 2, 2},  {0, 3, 4, 4},     {1, 3, 1, 1}};

TEST(FastReorder, BothWays) {
  for (const char* to : {"plain", "channels_last"})
    for (const Shape& shape : kImages)
      for (DType dtype : {DType::kFloat32, DType::kInt8, DType::kInt64})
        expect_as_reference("reorder", "vector", {numbered(dtype, shape)}, {{"to", std::string(to)}}, {});
}

TEST(FastTranspose, AnyPermutation) {
  for (DType dtype : {DType::kFloat32, DType::kInt8, DType::kInt64, DType::kInt32})
    for (const Shape& shape : {Shape{3, 17, 5, 20}, Shape{2, 40, 1, 33}}) {
      Ints perm = {0, 1, 2, 3};
      do expect_in_both_layouts("transpose", "vector", {numbered(dtype, shape)}, {{"perm", perm}});
      while (std::next_permutation(perm.begin(), perm.end()));
    }
  expect_as_reference("transpose", "vector", {random_floats({300, 200}, 3)}, {{"perm", Ints{1, 0}}}, {});
  expect_as_reference("transpose", "vector", {random_floats({2, 3, 4, 5, 6, 7}, 3)},
                      {{"perm", Ints{5, 0, 4, 2, 1, 3}}}, {});
  expect_as_reference("transpose", "vector", {random_floats({}, 3)}, {}, {});
}

TEST(FastConcat, EveryAxis) {
  for (std::int64_t axis : {0, 1, 2, 3, -1}) {
    auto part = [&](std::int64_t size) {
      Shape shape = {2, 5, 3, 9};
      shape[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)] = size;
      return shape;
    };
    Attrs attrs = {{"axis", axis}};
    std::vector<Tensor> floats = {Tensor()}, bytes = {Tensor()};
    for (std::int64_t size : {8, 1, 40, 3}) {
      floats.push_back(random_floats(part(size), static_cast<std::uint32_t>(size)));
      bytes.push_back(random_int8s(part(size), static_cast<std::uint32_t>(size)));
    }
    expect_in_both_layouts("concat", "vector", floats, attrs);
    expect_in_both_layouts("concat", "vector", floats, attrs, {2, 4});
    expect_in_both_layouts("concat", "vector", bytes, attrs);
    floats[0] = Tensor::of<std::int32_t>({1}, {static_cast<std::int32_t>(axis)});
    expect_in_both_layouts("concat", "vector", floats, {}, {0});
  }
  expect_in_both_layouts("concat", "vector",
                         {Tensor(), random_floats({1, 64, 60, 60}, 3), random_floats({1, 24, 60, 60}, 4)},
                         {{"axis", std::int64_t{1}}});
  expect_in_both_layouts("concat", "vector",
                         {Tensor(), numbered(DType::kInt64, {3}), numbered(DType::kInt64, {4})});
}

TEST(FastSplit, EveryAxis) {
  for (std::int64_t axis : {0, 1, 2, 3}) {
    Shape shape = {2, 5, 3, 9};
    shape[static_cast<std::size_t>(axis)] = 12;
    for (const Tensor& x : {random_floats(shape, 3), random_int8s(shape, 3)}) {
      expect_in_both_layouts("split", "vector", {x}, {{"axis", axis}, {"num", std::int64_t{3}}}, {}, 3);
      expect_in_both_layouts("split", "vector", {x}, {{"axis", axis}, {"sections", Ints{1, -1, 4}}}, {}, 3);
    }
  }
}

TEST(FastSlice, KeepsOrDropsDims) {
  Tensor x = random_floats({2, 20, 9, 11}, 3);
  auto sliced = [&](const Ints& axes, const Ints& starts, const Ints& ends, const Ints& dropped) {
    Attrs attrs = {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"decrease_axes", dropped}};
    expect_in_both_layouts("slice", "vector", {x}, attrs);
    expect_in_both_layouts("slice", "vector", {random_int8s(x.shape(), 4)}, attrs);
  };
  sliced({1}, {3}, {17}, {});
  sliced({0, 2}, {1, 2}, {2, 100}, {});
  sliced({2, 3}, {1, 2}, {-1, -2}, {});
  sliced({0}, {1}, {2}, {0});
  sliced({1}, {4}, {5}, {1});
  sliced({3}, {4}, {5}, {3});
  sliced({2, 3}, {0, 4}, {1, 5}, {2, 3});
  sliced({0, 1, 2, 3}, {0, 1, 2, 3}, {1, 2, 3, 4}, {0, 1, 2, 3});
  sliced({1}, {3}, {3}, {});
  expect_in_both_layouts("slice", "vector", {numbered(DType::kInt64, {5})},
                         {{"axes", Ints{0}}, {"starts", Ints{1}}, {"ends", Ints{3}}});
}

}  // namespace
}  // namespace octet
