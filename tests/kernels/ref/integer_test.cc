#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/activation.h"
#include "graph/quantization.h"
#include "kernels/quantizer.h"
#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;
using testing::random_floats;
using testing::random_int8s;
using testing::run_node;
using testing::values;

// The integers of an int8 tensor as floats, of which a float convolution or product makes exact sums as long
// as they stay below 2^24.
Tensor as_floats(const Tensor& x) {
  return x.cast(DType::kFloat32);
}

std::vector<float> rescale(const Tensor& sums, const Tensor& multiplier, const Tensor& bias,
                           std::int64_t channels, std::int64_t inner) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < sums.size(); ++i) {
    auto c = static_cast<std::size_t>(i / inner % channels);
    result.push_back(std::fma(sums.data<float>()[static_cast<std::size_t>(i)],
                              multiplier.data<float>()[multiplier.size() == 1 ? 0 : c],
                              bias.data<float>()[c]));
  }
  return result;
}

TEST(QConv2d, IsTheFloatConvolutionOfItsIntegers) {
  for (std::int64_t groups : {1, 2, 4}) {
    Tensor x = random_int8s({2, 4, 9, 7}, 1), w = random_int8s({8, 4 / groups, 3, 3}, 2);
    Tensor multiplier = random_floats({8}, 3, 1e-4f, 2e-4f), bias = random_floats({8}, 4);
    Attrs attrs = {{"groups", groups}, {"strides", Ints{2, 1}}, {"paddings", Ints{1, 1, 0, 2}}};
    Tensor sums = run_node("conv2d", {as_floats(x), as_floats(w)}, attrs);
    std::vector<float> expected = rescale(sums, multiplier, bias, 8, sums.dim(2) * sums.dim(3));
    for (int threads : {1, 3})
      EXPECT_EQ(values<float>(run_node("qconv2d", {x, w, multiplier, bias}, attrs, threads)), expected);

    // With an out_scale the same goes through the quantizer.
    Quantizer q = Quantizer(Quantization::of_abs_max(3.5f, 8));
    std::vector<std::int8_t> integers;
    for (float value : expected) integers.push_back(q.to_int8(value));
    Tensor out_scale = Tensor::of<float>({1}, {3.5f});
    EXPECT_EQ(values<std::int8_t>(run_node("qconv2d", {x, w, multiplier, bias, out_scale}, attrs)), integers);
  }
}

TEST(QConv2dTranspose, IsTheFloatOneOfItsIntegers) {
  Tensor x = random_int8s({1, 4, 5, 6}, 1), w = random_int8s({4, 3, 2, 2}, 2);
  Tensor multiplier = random_floats({3}, 3, 1e-4f, 2e-4f), bias = random_floats({3}, 4);
  Attrs attrs = {{"strides", Ints{2, 2}}};
  Tensor sums = run_node("conv2d_transpose", {as_floats(x), as_floats(w)}, attrs);
  EXPECT_EQ(values<float>(run_node("qconv2d_transpose", {x, w, multiplier, bias}, attrs)),
            rescale(sums, multiplier, bias, 3, sums.dim(2) * sums.dim(3)));
}

TEST(QMatmul, IsTheFloatProductOfItsIntegers) {
  Tensor x = random_int8s({2, 3, 20}, 1), bias = random_floats({7}, 4);
  for (bool transposed : {false, true})
    for (std::int64_t multipliers : {1, 7}) {
      Tensor w = random_int8s(transposed ? Shape{7, 20} : Shape{20, 7}, 2);
      Tensor multiplier = random_floats({multipliers}, 3, 1e-4f, 2e-4f);
      Tensor sums = run_node("matmul", {as_floats(x), as_floats(w)}, {{"transpose_y", transposed}});
      Tensor z = run_node("qmatmul", {x, w, multiplier, bias}, {{"transpose_y", transposed}}, 2);
      EXPECT_EQ(z.shape(), (Shape{2, 3, 7}));
      EXPECT_EQ(values<float>(z), rescale(sums, multiplier, bias, 7, 1));
    }
  Tensor w = random_int8s({60, 2}, 5), multiplier = Tensor::of<float>({1}, {1});
  EXPECT_EQ(run_node("qmatmul", {x, w, multiplier}, {{"x_num_col_dims", std::int64_t{1}}}).shape(),
            (Shape{2, 2}));
}

TEST(QMatmul, SumsAreExactBeyondFloat) {
  // 2000 * 127 * 127 + 1 is no float; its int32 sum is exact until the one rounding to float.
  std::int64_t n = 2001;
  std::vector<std::int8_t> x(static_cast<std::size_t>(n), 127), w(static_cast<std::size_t>(n), 127);
  x.back() = w.back() = 1;
  Tensor z = run_node("qmatmul", {Tensor::of(Shape{1, n}, x), Tensor::of(Shape{n, 1}, w),
                                  Tensor::of<float>({1}, {1}), Tensor::of<float>({1}, {-32258000.0f})});
  EXPECT_EQ(values<float>(z)[0], static_cast<float>(2000 * 127 * 127 + 1) - 32258000.0f);
}

TEST(Epilogue, AppliesEachActivation) {
  Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 4}, {-100, -10, 10, 100});
  Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, {1});
  Tensor multiplier = Tensor::of<float>({1}, {0.1f}), bias = Tensor::of<float>({1}, {0.25f});
  struct Case {
    const char* name;
    std::vector<double> args;
    float (*function)(float);
  };
  const Case cases[] = {
      {"", {}, [](float v) { return v; }},
      {"relu", {}, [](float v) { return relu_of(v); }},
      {"relu6", {}, [](float v) { return relu6_of(v, 6); }},
      {"relu6", {4}, [](float v) { return relu6_of(v, 4); }},
      {"hard_swish", {}, [](float v) { return hard_swish_of(v, 6, 6, 3); }},
      {"hard_swish", {5, 4, 2}, [](float v) { return hard_swish_of(v, 5, 4, 2); }},
      {"hard_sigmoid", {}, [](float v) { return hard_sigmoid_of(v, 0.2f, 0.5f); }},
      {"hard_sigmoid", {0.1666667, 0.5}, [](float v) { return hard_sigmoid_of(v, 0.1666667f, 0.5f); }},
      {"swish", {}, [](float v) { return swish_of(v, 1); }},
      {"swish", {1.5}, [](float v) { return swish_of(v, 1.5f); }},
      {"sigmoid", {}, [](float v) { return sigmoid_of(v); }},
      {"leaky_relu", {}, [](float v) { return leaky_relu_of(v, 0.02f); }},
      {"leaky_relu", {0.1}, [](float v) { return leaky_relu_of(v, 0.1f); }},
  };
  for (const Case& c : cases) {
    std::vector<float> expected;
    for (float value : {-100.0f, -10.0f, 10.0f, 100.0f})
      expected.push_back(c.function(std::fma(value, 0.1f, 0.25f)));
    Attrs attrs = {{"activation", std::string(c.name)}, {"activation_args", c.args}};
    EXPECT_EQ(values<float>(run_node("qconv2d", {x, w, multiplier, bias}, attrs)), expected) << c.name;
  }
}

// Of uint8 and int8, with zero points; padding is the zero point, so it adds nothing.
TEST(IntegerProducts, SumDifferencesFromTheZeroPoints) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 2, 2}, {10, 0, 255, 7});
  const Tensor w = Tensor::of<std::int8_t>({2, 1, 2, 2}, {1, 2, 3, 4, -128, 127, 0, 5});
  const Tensor x_zero = Tensor::of<std::uint8_t>({}, {7}), w_zero = Tensor::of<std::int8_t>({2}, {1, -1});
  // x - 7: 3 -7; 248 0. Weights less 1: 0 1 2 3; plus 1: -127 128 1 6.
  EXPECT_THAT(values<std::int32_t>(run_node("conv2d_integer", {x, w, x_zero, w_zero})),
              ElementsAre(-7 + 2 * 248, -127 * 3 + 128 * -7 + 248));
  const Attrs padded = {{"paddings", Ints{0, 1, 0, 1}}};
  EXPECT_THAT(values<std::int32_t>(run_node("conv2d_integer", {x, w, x_zero, w_zero}, padded)),
              ElementsAre(489, 0, 0, 0, -1029, 889, 127 * -248, 0));

  const Tensor a = Tensor::of<std::uint8_t>({2, 2}, {7, 8, 200, 0});
  const Tensor b = Tensor::of<std::int8_t>({2, 2}, {1, 2, 3, -100});
  EXPECT_THAT(values<std::int32_t>(run_node("matmul_integer", {a, b})),
              ElementsAre(7 + 24, 14 - 800, 200, 400));
  // a - 7: 0 1; 193 -7. b less 1 and plus 1: 0 3; 2 -99.
  EXPECT_THAT(values<std::int32_t>(run_node("matmul_integer", {a, b, x_zero, w_zero})),
              ElementsAre(2, -99, -14, 193 * 3 + 7 * 99));
}

TEST(QAddQMul, WorkOnWhatTheIntegersStandFor) {
  Tensor x = Tensor::of<std::int8_t>({1, 2, 2}, {1, 2, 3, 4}), y = Tensor::of<std::int8_t>({2}, {10, 20});
  Tensor x_step = Tensor::of<float>({1}, {0.5f}), y_step = Tensor::of<float>({1}, {0.25f});
  EXPECT_THAT(values<float>(run_node("qadd", {x, y, x_step, y_step})), ElementsAre(3, 6, 4, 7));
  EXPECT_THAT(values<float>(run_node("qmul", {x, y, x_step, y_step}, {{"axis", std::int64_t{1}}})),
              ElementsAre(1.25, 2.5, 7.5, 10));
  Tensor out_scale = Tensor::of<float>({1}, {127});
  EXPECT_THAT(values<std::int8_t>(run_node("qadd", {x, y, x_step, y_step, out_scale})),
              ElementsAre(3, 6, 4, 7));
  EXPECT_THAT(values<std::int8_t>(run_node("qmul", {x, y, x_step, y_step, out_scale})),
              ElementsAre(1, 5, 4, 10));
}

TEST(QPool2d, KeepsTheScale) {
  Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 4}, {1, 2, -5, -128});
  Attrs attrs = {{"kernel", Ints{1, 2}}, {"strides", Ints{1, 1}}};
  EXPECT_THAT(values<std::int8_t>(run_node("qpool2d", {x}, attrs)), ElementsAre(2, 2, -5));
  attrs["type"] = std::string("avg");
  EXPECT_THAT(values<std::int8_t>(run_node("qpool2d", {x}, attrs)), ElementsAre(2, -2, -66));
}

TEST(QResize, CopiesOrInterpolates) {
  Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 2}, {-128, 127});
  Attrs attrs = {{"out_h", std::int64_t{1}}, {"out_w", std::int64_t{4}}};
  EXPECT_THAT(values<std::int8_t>(run_node("qresize", {x}, attrs)), ElementsAre(-128, -128, 127, 127));
  attrs["mode"] = std::string("bilinear");
  EXPECT_THAT(values<std::int8_t>(run_node("qresize", {x}, attrs)), ElementsAre(-128, 0, 127, 127));
}

TEST(QLut, LooksUp) {
  std::vector<std::int8_t> table;
  for (int i = -128; i < 128; ++i) table.push_back(static_cast<std::int8_t>(-1 - i));
  Tensor x = Tensor::of<std::int8_t>({4}, {-128, -1, 0, 127});
  EXPECT_THAT(values<std::int8_t>(run_node("qlut", {x, Tensor::of(Shape{256}, table)})),
              ElementsAre(127, 0, -1, -128));
}

TEST(IntegerOps, RefuseWhatDoesNotFit) {
  Tensor x = random_int8s({1, 2, 4, 4}, 1), w = random_int8s({3, 2, 1, 1}, 2), m = random_floats({3}, 3);
  auto error = [&](const char* op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    return error_of([&] { run_node(op, inputs, attrs); });
  };
  EXPECT_THAT(error("qconv2d", {as_floats(x), w, m}), HasSubstr("x is float32"));
  EXPECT_THAT(error("qconv2d", {x, w, random_floats({2}, 1)}), HasSubstr("multiplier"));
  EXPECT_THAT(error("qconv2d", {x, w, m, random_floats({2}, 1)}), HasSubstr("bias"));
  EXPECT_THAT(error("qconv2d", {x, w, m, m, m}), HasSubstr("out_scale"));
  EXPECT_THAT(error("qconv2d", {x, w, m}, {{"activation", std::string("gelu")}}), HasSubstr("gelu"));
  EXPECT_THAT(error("qconv2d", {x, w, m},
                    {{"activation", std::string("relu6")}, {"activation_args", std::vector<double>{1, 2}}}),
              HasSubstr("activation_args has 2"));
  EXPECT_THAT(error("qconv2d", {x, w, m}, {{"bits", std::int64_t{16}}}), HasSubstr("bits"));
  std::int64_t many = 1 << 17;
  EXPECT_THAT(
      error("qmatmul", {random_int8s({1, many}, 1), random_int8s({many, 1}, 2), random_floats({1}, 3)}),
      HasSubstr("int32"));
  EXPECT_THAT(error("qlut", {x, w}), HasSubstr("table"));
}

}  // namespace
}  // namespace octet
