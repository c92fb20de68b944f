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

}  // namespace
}  // namespace octet
