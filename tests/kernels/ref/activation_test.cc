#include "kernels/ref/activation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::run_node;
using testing::values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> run(const std::string& op, std::vector<float> x, Attrs attrs = {}) {
  return values<float>(
      run_node(op, {Tensor::of<float>({static_cast<std::int64_t>(x.size())}, x)}, std::move(attrs)));
}

TEST(RefActivation, PiecewiseLinear) {
  EXPECT_THAT(run("relu", {-2, -0.0f, 0, 3, kInf, -kInf, kNaN}), ElementsAre(0, 0, 0, 3, kInf, 0, 0));
  EXPECT_THAT(run("relu6", {-1, 5, 7, kInf}), ElementsAre(0, 5, 6, 6));
  EXPECT_THAT(run("relu6", {5}, {{"threshold", 2.0}}), ElementsAre(2));
  EXPECT_THAT(run("leaky_relu", {-2, 2}, {{"alpha", 0.25}}), ElementsAre(-0.5, 2));
  EXPECT_THAT(run("hard_sigmoid", {-10, 0, 1, 10}), ElementsAre(0, 0.5f, 0.7f, 1));
  EXPECT_THAT(run("hard_sigmoid", {3}, {{"slope", 0.125}, {"offset", 0.25}}), ElementsAre(0.625f));
  EXPECT_THAT(run("hard_swish", {-4, -3, 0, 1, 3, 8}), ElementsAre(0, 0, 0, 4 / 6.0f, 3, 8));
  EXPECT_THAT(run("hard_swish", {1}, {{"threshold", 4.0}, {"scale", 4.0}, {"offset", 2.0}}),
              ElementsAre(0.75f));
  EXPECT_THAT(run("abs", {-1, 2, -0.0f}), ElementsAre(1, 2, 0));
  EXPECT_THAT(run("sqrt", {0, 4, 2}), ElementsAre(0, 2, std::sqrt(2.0f)));
}

TEST(RefActivation, Clip) {
  Tensor x = Tensor::of<float>({3}, {-9, 0.5f, 9}), low = Tensor::of<float>({1}, {-1}),
         high = Tensor::scalar(2.0f);
  EXPECT_THAT(values<float>(run_node("clip", {x})), ElementsAre(-9, 0.5f, 9));
  EXPECT_THAT(values<float>(run_node("clip", {x}, {{"min", 0.0}, {"max", 1.0}})), ElementsAre(0, 0.5f, 1));
  EXPECT_THAT(values<float>(run_node("clip", {x, low, high}, {{"min", 0.0}, {"max", 1.0}})),
              ElementsAre(-1, 0.5f, 2))
      << "inputs override attributes";
  EXPECT_THAT(values<float>(run_node("clip", {x, Tensor(), high})), ElementsAre(-9, 0.5f, 2));
}

TEST(RefActivation, Dropout) {
  EXPECT_THAT(run("dropout", {1, 2}, {{"p", 0.25}}), ElementsAre(1, 2));
  EXPECT_THAT(run("dropout", {1, 2}, {{"p", 0.25}, {"mode", "downgrade_in_infer"}}),
              ElementsAre(0.75f, 1.5f));
}

// How far float results are from a function of double, in units of the result (but not below `smallest`).
template <class Reference>
double worst_error(const std::string& op, double smallest, Reference reference, Attrs attrs = {}) {
  std::vector<float> x;
  for (float v = -30; v < 30; v += 0.0137f) x.push_back(v);
  for (float v = 1e-8f; v < 0.3f; v *= 1.07f) x.insert(x.end(), {v, -v});
  std::vector<float> y = run(op, x, std::move(attrs));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double expected = reference(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(y[i] - expected) / std::max(std::fabs(expected), smallest));
  }
  return worst;
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(RefActivation, SmoothFunctionsAreAccurate) {
  EXPECT_LT(worst_error("exp", 0, [](double x) { return std::exp(x); }), 3e-7);
  EXPECT_LT(worst_error("sigmoid", 0, logistic), 5e-7);
  EXPECT_LT(worst_error("tanh", 0, [](double x) { return std::tanh(x); }), 5e-7);
  EXPECT_LT(worst_error("swish", 0, [](double x) { return x * logistic(x); }), 5e-7);
  EXPECT_LT(worst_error("swish", 0, [](double x) { return x * logistic(0.5 * x); }, {{"beta", 0.5}}), 5e-7);
  EXPECT_LT(worst_error("gelu", 1e-2, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }),
            1e-6);
  auto tanh_gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  };
  EXPECT_LT(worst_error("gelu", 1e-1, tanh_gelu, {{"approximate", true}}), 5e-6);
}

TEST(RefActivation, SmoothFunctionsAtTheEdges) {
  EXPECT_THAT(run("sigmoid", {-kInf, kInf, 200, -200}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(run("tanh", {-kInf, kInf, 0}), ElementsAre(-1, 1, 0));
  EXPECT_THAT(run("swish", {-1000, 1000}), ElementsAre(-0.0f, 1000));
  EXPECT_TRUE(std::isnan(run("sigmoid", {kNaN})[0]));
  EXPECT_TRUE(std::isnan(run("tanh", {kNaN})[0]));
}

TEST(RefActivation, ThreadsDoNotMatter) {
  Tensor x(DType::kFloat32, {3, 12345});
  for (std::size_t i = 0; float& v : x.mutable_data<float>()) v = 0.001f * static_cast<float>(i++) - 15;
  EXPECT_EQ(values<float>(run_node("swish", {x}, {}, 1)), values<float>(run_node("swish", {x}, {}, 4)));
}

TEST(RefActivation, FunctionsThatNoEpilogueHas) {
  std::vector<float> points;
  for (float x = -20; x < 20; x += 0.0625f) points.push_back(x);
  points.insert(points.end(), {1e-6f, -1e-6f, 1e-3f, -1e-3f, -0.1249f, -0.1251f, 1e-30f});
  Tensor x = Tensor::of<float>({static_cast<std::int64_t>(points.size())}, points);
  auto expect = [&](const char* op, Attrs attrs, double (*function)(double)) {
    std::vector<float> y = values<float>(run_node(op, {x}, attrs));
    for (std::size_t i = 0; i < points.size(); ++i) {
      double wanted = function(points[i]);
      ASSERT_NEAR(y[i], wanted, 4e-7 * std::max(std::fabs(wanted), 1e-30)) << op << " of " << points[i];
    }
  };
  expect("elu", {{"alpha", 2.0}}, [](double v) { return v > 0 ? v : 2 * std::expm1(v); });
  expect("softplus", {}, [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))); });
  expect("mish", {},
         [](double v) { return v * std::tanh(std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)))); });
  expect("erf", {}, [](double v) { return std::erf(v); });
  expect("floor", {}, [](double v) { return std::floor(v); });
  expect("ceil", {}, [](double v) { return std::ceil(v); });
  expect("round", {}, [](double v) { return std::nearbyint(v); });
  expect("sign", {}, [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; });
}

TEST(RefActivation, Log) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> points = {1e-45f, 1e-20f, 0.1f, 0.7071f, 0.99999f, 1, 1.00001f, 2, 10, 3e38f};
  Tensor x = Tensor::of<float>({10}, points);
  std::vector<float> y = values<float>(run_node("log", {x}));
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_FLOAT_EQ(y[i], static_cast<float>(std::log(static_cast<double>(points[i]))));
  std::vector<float> edges = values<float>(run_node("log", {Tensor::of<float>({3}, {0, kInfinity, -1})}));
  EXPECT_EQ(edges[0], -kInfinity);
  EXPECT_EQ(edges[1], kInfinity);
  EXPECT_TRUE(std::isnan(edges[2]));
}

TEST(RefActivation, IntegersToo) {
  Tensor x = Tensor::of<std::int8_t>({3}, {-128, -5, 7});
  EXPECT_THAT(values<std::int8_t>(run_node("abs", {x})), ::testing::ElementsAre(-128, 5, 7));
  EXPECT_THAT(values<std::int8_t>(run_node("sign", {x})), ::testing::ElementsAre(-1, -1, 1));
  Tensor low = Tensor::scalar<std::int8_t>(-6), high = Tensor::scalar<std::int8_t>(3);
  EXPECT_THAT(values<std::int8_t>(run_node("clip", {x, low, high})), ::testing::ElementsAre(-6, -5, 3));
  EXPECT_THAT(values<std::int8_t>(run_node("clip", {x, Tensor(), high})),
              ::testing::ElementsAre(-128, -5, 3));
}

}  // namespace
}  // namespace octet
