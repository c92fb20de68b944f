#include <limits>

#include "kernels/fast/layouts.h"

namespace octet {
namespace {

using testing::expect_in_both_layouts;
using testing::random_floats;
using testing::random_int8s;

// Random numbers with some that are odd among them. The sign of NaN is defined nowhere, so it only goes where
// something else comes out.
Tensor odd_floats(Shape shape, std::uint32_t seed, bool nan = true) {
  Tensor tensor = random_floats(std::move(shape), seed, -8, 8);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float odd[] = {0.0f,   -0.0f,   kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                       1e-40f, -1e-40f, 200.0f,    -200.0f,    0.25f,
                       -0.25f};
  auto data = tensor.mutable_data<float>();
  for (std::size_t i = 0; i < std::size(odd) && 3 * i < data.size(); ++i)
    data[3 * i] = nan || odd[i] == odd[i] ? odd[i] : 0.0f;
  return tensor;
}

const std::vector<Shape> kShapes = {{1}, {7}, {8}, {17}, {40000}, {2, 5, 3, 7}};

TEST(FastActivation, GivesTheBitsOfTheReference) {
  for (const char* op : {"relu", "relu6", "hard_swish", "hard_sigmoid", "swish", "sigmoid", "leaky_relu",
                         "tanh", "exp", "sqrt", "abs", "gelu", "erf", "clip", "dropout", "scale"})
    for (const Shape& shape : kShapes) expect_in_both_layouts(op, "vector", {odd_floats(shape, 3, false)});
}

TEST(FastActivation, MakesABoundOfNan) {
  for (const char* op : {"relu", "relu6", "hard_sigmoid", "clip"})
    for (const Shape& shape : kShapes) expect_in_both_layouts(op, "vector", {odd_floats(shape, 3)});
}

TEST(FastActivation, ReadsAttributesAndInputs) {
  Tensor x = odd_floats({2, 5, 3, 7}, 3, false);
  expect_in_both_layouts("gelu", "vector", {x}, {{"approximate", true}});
  expect_in_both_layouts("clip", "vector", {x}, {{"min", -1.0}, {"max", 2.5}});
  expect_in_both_layouts("clip", "vector", {x, Tensor::scalar(-2.0f), Tensor::scalar(3.0f)}, {{"min", -1.0}});
  expect_in_both_layouts("dropout", "vector", {x}, {{"mode", std::string("downgrade_in_infer")}, {"p", 0.3}});
  for (bool after : {true, false}) {
    Attrs attrs = {{"scale", 1.7}, {"bias", -0.3}, {"bias_after_scale", after}};
    expect_in_both_layouts("scale", "vector", {x}, attrs);
    expect_in_both_layouts("scale", "vector", {x, Tensor::of<float>({1}, {0.3f})}, attrs);
    expect_in_both_layouts("scale", "ref", {Tensor::of<std::int32_t>({3}, {1, -2, 3})}, attrs);
  }
  expect_in_both_layouts("leaky_relu", "vector", {x}, {{"alpha", 0.1}});
  expect_in_both_layouts("hard_swish", "vector", {x}, {{"threshold", 5.0}, {"scale", 7.0}, {"offset", 2.0}});
}

TEST(FastQuantization, GivesTheIntegersOfTheReference) {
  Tensor scale = Tensor::of<float>({1}, {3.7f});
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{77}, Shape{2, 5, 3, 7}, Shape{1, 3, 100, 101}})
    for (const char* rounding : {"even", "away"})
      for (int bits : {8, 4}) {
        Attrs attrs = {{"rounding", std::string(rounding)}, {"bits", std::int64_t{bits}}};
        expect_in_both_layouts("quantize", "vector", {odd_floats(shape, 5), scale}, attrs, {1});
        attrs["dtype"] = std::string("float32");
        expect_in_both_layouts("quantize", "ref", {odd_floats(shape, 5), scale}, attrs, {1});
        attrs.erase("dtype");
        expect_in_both_layouts("fake_quant", "ref", {odd_floats(shape, 5), scale}, attrs, {1});
        attrs.erase("rounding");
        expect_in_both_layouts("dequantize", "vector", {random_int8s(shape, 5), scale}, attrs, {1});
      }
}

TEST(FastQuantization, LeavesScalesPerChannelToTheReference) {
  Tensor x = random_floats({2, 5, 3, 7}, 3, -8, 8);
  Tensor scales = random_floats({5}, 4, 1, 9);
  Attrs axis = {{"axis", std::int64_t{1}}}, step = {{"unit", std::string("step")}};
  expect_in_both_layouts("quantize", "ref", {x, scales}, axis, {1});
  expect_in_both_layouts("dequantize", "ref", {random_int8s({2, 5, 3, 7}, 3), scales}, axis, {1});
  expect_in_both_layouts("quantize", "vector", {x, Tensor::of<float>({1}, {0.1f})}, step, {1});
  expect_in_both_layouts("dequantize", "vector",
                         {random_int8s({2, 5, 3, 7}, 3), Tensor::of<float>({1}, {0.1f})}, step, {1});
  expect_in_both_layouts("dequantize", "ref", {x, Tensor::of<float>({1}, {0.1f})}, {}, {1});
}

TEST(FastQlut, LooksUpEveryInteger) {
  Tensor table = random_int8s({256}, 9);
  Tensor all(DType::kInt8, {256});
  for (std::size_t i = 0; i < 256; ++i) all.mutable_data<std::int8_t>()[i] = static_cast<std::int8_t>(i);
  expect_in_both_layouts("qlut", "vector", {all, table}, {}, {1});
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{32}, Shape{200000}, Shape{2, 5, 3, 7}})
    expect_in_both_layouts("qlut", "vector", {random_int8s(shape, 3), table}, {}, {1});
}

TEST(FastCast, KeepsTheLayout) {
  for (const char* dtype : {"int32", "int64", "int8", "bool", "float32"})
    expect_in_both_layouts("cast", "ref", {random_floats({2, 5, 3, 7}, 3, -8, 8)},
                           {{"dtype", std::string(dtype)}});
  expect_in_both_layouts("shape", "ref", {random_floats({2, 5, 3, 7}, 3)});
  expect_in_both_layouts("identity", "ref", {random_floats({2, 5, 3, 7}, 3)});
}

}  // namespace
}  // namespace octet
