#include "train/quantizer.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "models/models.h"
#include "quant/trained.h"
#include "runtime/executor.h"
#include "train/convert.h"
#include "train/network.h"

namespace octet::train {
namespace {

at::Tensor number(double value) {
  return at::full({1}, value, at::kFloat);
}

InputQuantizer input_quantizer(Activation kind, int bits, double learned, double average) {
  InputQuantizer quantizer;
  quantizer.kind = kind;
  quantizer.bits = bits;
  if (kind != Activation::kMovingAverage) quantizer.learned = number(learned).set_requires_grad(true);
  quantizer.scale = number(average);
  quantizer.state = number(1);
  quantizer.accum = number(average);
  return quantizer;
}

void expect_close(const at::Tensor& a, const at::Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance * std::max(1.0, b.abs().max().item<double>()));
}

struct Result {
  at::Tensor y, x, learned;  // the value, and gradients
};

Result run(const at::Tensor& x, const InputQuantizer& quantizer, const at::Tensor& weights) {
  at::Tensor leaf = x.clone().set_requires_grad(true);
  const at::Tensor y = fake_quantize(leaf, quantizer);
  (y * weights).sum().backward();
  return {y.detach(), leaf.grad(), quantizer.learned.defined() ? quantizer.learned.grad() : at::Tensor()};
}

TEST(Quantizer, PactIsWhatItsDefinitionSays) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 3, 5, 5}) * 2, g = at::randn({4, 3, 5, 5});
  const double alpha = 1.5;
  const Result result = run(x, input_quantizer(Activation::kPact, 8, alpha, 3.0), g);
  const at::Tensor integers = at::clamp(at::round(x * (127 / alpha)), -128, 127);
  expect_close(result.y, integers * alpha / 127);
  const at::Tensor outside = x.abs() > alpha;
  EXPECT_GT(outside.sum().item<int>(), 20);
  expect_close(result.x, g.masked_fill(outside, 0));
  expect_close(result.learned, (g * x.sign() * outside).sum().reshape({1}));
}

TEST(Quantizer, TheRangeIsTheSmallerOfAlphaAndTheAverage) {
  EXPECT_FLOAT_EQ(input_quantizer(Activation::kPact, 8, 2.0, 3.0).range(), 2.0f);
  EXPECT_FLOAT_EQ(input_quantizer(Activation::kPact, 8, 4.0, 3.0).range(), 3.0f);
  EXPECT_FLOAT_EQ(input_quantizer(Activation::kMovingAverage, 8, 0, 3.0).range(), 3.0f);
  EXPECT_FLOAT_EQ(input_quantizer(Activation::kLsq, 8, 0.5, 3.0).range(), 0.5f);
}

TEST(Quantizer, TheMovingAverageIsPaddles) {
  InputQuantizer quantizer = input_quantizer(Activation::kMovingAverage, 8, 0, 0.001);
  quantizer.accum = number(1);
  for (double largest : {2.0, 4.0, 1.0}) quantizer.observe(at::tensor({-largest, 0.5}, at::kFloat));
  EXPECT_NEAR(quantizer.state.item<double>(), 3.439, 1e-5);
  EXPECT_NEAR(quantizer.accum.item<double>(), ((1 * 0.9 + 2) * 0.9 + 4) * 0.9 + 1, 1e-5);
  EXPECT_NEAR(quantizer.scale.item<double>(), quantizer.accum.item<double>() / 3.439, 1e-5);
}

TEST(Quantizer, LsqIsWhatItsDefinitionSays) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({2, 3, 4, 4}) * 2, g = at::randn({2, 3, 4, 4});
  const double range = 1.25, levels = 7;
  const Result result = run(x, input_quantizer(Activation::kLsq, 4, range, 1.0), g);
  const at::Tensor v = x * (levels / range), inside = v.abs() <= levels;
  const at::Tensor integers = at::clamp(at::round(v), -levels - 1, levels);
  expect_close(result.y, integers * range / levels);
  expect_close(result.x, g * inside);
  const at::Tensor slope = at::where(inside, (integers - v) / levels, x.sign());
  expect_close(result.learned,
               ((g * slope).sum() / std::sqrt(static_cast<double>(x.numel()) * levels)).reshape({1}));
}

// The fused layer against its parts, with libtorch's own gradients.
TEST(Quantizer, ALayerIsQuantizersAndAConvolution) {
  at::manual_seed(3);
  for (const bool depthwise : {false, true})
    for (const Activation kind : {Activation::kPact, Activation::kLsq}) {
      const at::Tensor x = (at::randn({2, 4, 6, 6}) * 2).contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor w = at::randn({depthwise ? 4 : 5, depthwise ? 1 : 4, 3, 3});
      Node node{.op = "conv2d", .inputs = {0, 1}, .outputs = {2}, .attrs = {}};
      node.attrs["paddings"] = std::vector<std::int64_t>{1, 1, 1, 1};
      node.attrs["strides"] = std::vector<std::int64_t>{2, 2};
      node.attrs["groups"] = std::int64_t{depthwise ? 4 : 1};
      LayerQuantizer quantizer{.name = "layer"};
      quantizer.input = std::make_shared<InputQuantizer>(input_quantizer(kind, 8, 1.5, 2.0));
      quantizer.weight = {.kind = WeightScale::kChannelAbsMax, .bits = 8, .axis = 0};

      const auto leaves = [&] {
        return std::pair(x.clone().set_requires_grad(true), w.clone().set_requires_grad(true));
      };
      auto [x1, w1] = leaves();
      const at::Tensor y1 = quantized_layer(node, quantizer, x1, w1, nullptr, false, {});
      const at::Tensor g = at::randn(y1.sizes());
      (y1 * g).sum().backward();
      const at::Tensor learned1 = quantizer.input->learned.grad().clone();
      quantizer.input->learned.mutable_grad().reset();

      auto [x2, w2] = leaves();
      const at::Tensor y2 = at::conv2d(fake_quantize(x2, *quantizer.input), quantizer.weight.quantized(w2),
                                       {}, 2, 1, 1, depthwise ? 4 : 1);
      (y2 * g).sum().backward();
      expect_close(y1, y2);
      expect_close(x1.grad(), x2.grad());
      expect_close(w1.grad(), w2.grad());
      expect_close(learned1, quantizer.input->learned.grad());
    }
}

class QuantizedNetwork : public testing::TestWithParam<std::pair<Activation, WeightScale>> {
 protected:
  // Statistics that follow quickly: a network whose statistics are not its own dies out on its way.
  static Graph graph() {
    Graph graph =
        models::build_model("mobilenet_v3_small", {.num_classes = 5, .img_size = 32, .width = 0.25});
    for (Node& node : graph.nodes)
      if (node.op == "batch_norm") node.attrs["momentum"] = 0.5;
    return graph;
  }

  QuantizedNetwork() : network_(graph(), at::kCPU) {
    at::manual_seed(4);
    x_ = at::randn({8, 3, 32, 32});
    network_.training = true;
    const at::NoGradGuard no_gradients;
    // Negative factors of batch norms are the ones that folding could get wrong.
    for (Weight& weight : network_.parameters())
      if (weight.name.ends_with(".1.weight")) weight.tensor.mul_(at::randn(weight.tensor.sizes()).sign());
    for (int i = 0; i < 10; ++i) network_.forward(x_);
    network_.quantize({.activation = GetParam().first, .weight = GetParam().second}, x_);
    for (int i = 0; i < 5; ++i) network_.forward(x_);
    network_.training = false;
  }

  // What octet's runtime makes of the deployed model.
  static at::Tensor run_deployed(const Network& network, const at::Tensor& x) {
    ThreadPool pool(1);
    return to_torch(execute(prepare(network.deployed(), {}), {from_torch(x)}, pool).at(0));
  }

  Network network_;
  at::Tensor x_;
};

TEST_P(QuantizedNetwork, IsDeployedAsItIsTrained) {
  const at::NoGradGuard no_gradients;
  const at::Tensor simulated = network_.forward(x_), deployed = run_deployed(network_, x_);
  const double error = (simulated - deployed).norm().item<double>() / simulated.norm().item<double>();
  EXPECT_GT(simulated.norm().item<double>(), 1e-3);
  EXPECT_LT(error, 0.02);  // a rounding that goes the other way here and there
}

TEST_P(QuantizedNetwork, SurvivesItsCheckpoint) {
  paddle::StateDict state;
  network_.write_quantizers(state);
  Network copy(network_.bake(), at::kCPU);
  copy.quantize(state);
  EXPECT_TRUE(at::equal(run_deployed(network_, x_), run_deployed(copy, x_)));
  EXPECT_EQ(copy.parameters().size(), network_.parameters().size());
}

TEST_P(QuantizedNetwork, FoldingKeepsTheTrainedIntegers) {
  paddle::StateDict state;
  network_.write_quantizers(state);
  const Graph graph = network_.bake();
  const std::vector<quant::TrainedLayer> layers = quant::trained_layers(graph, state);
  ASSERT_EQ(layers.size(), 54u);  // 52 convolutions, 2 linear layers
  const Graph deployed = quant::deployable(graph, layers, true);
  for (const quant::TrainedLayer& layer : layers) {
    const Tensor& integers = deployed.value(deployed.find_value(layer.weight)).constant;
    ASSERT_EQ(integers.dtype(), DType::kInt8) << layer.weight;
    const at::Tensor a = to_torch(integers).abs().to(at::kInt),
                     b = to_torch(layer.quantized.integers).abs().to(at::kInt);
    EXPECT_TRUE(at::equal(a, b)) << layer.weight;
  }
  for (const Node& node : deployed.nodes) EXPECT_NE(node.op, "batch_norm");
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedNetwork,
                         testing::Values(std::pair(Activation::kPact, WeightScale::kChannelAbsMax),
                                         std::pair(Activation::kMovingAverage, WeightScale::kAbsMax),
                                         std::pair(Activation::kLsq, WeightScale::kLsq)));

}  // namespace
}  // namespace octet::train
