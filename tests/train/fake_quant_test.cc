#include "train/fake_quant.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "graph/builder.h"
#include "models/models.h"
#include "quant/fake_quant.h"
#include "quant/weights.h"
#include "runtime/executor.h"
#include "train/convert.h"
#include "train/initial_ranges.h"
#include "train/network.h"

namespace octet::train {
namespace {

at::Tensor number(double value) {
  return at::full({1}, value, at::kFloat);
}

InputQuantizer quantizer_of(Activation kind, int bits, double learned, double average) {
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

TEST(FakeQuant, PactIsWhatItsDefinitionSays) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 3, 5, 5}) * 2, g = at::randn({4, 3, 5, 5});
  const double alpha = 1.5;
  const Result result = run(x, quantizer_of(Activation::kPact, 8, alpha, 3.0), g);
  const at::Tensor integers = at::clamp(at::round(x * (127 / alpha)), -128, 127);
  expect_close(result.y, integers * alpha / 127);
  const at::Tensor outside = x.abs() > alpha;
  EXPECT_GT(outside.sum().item<int>(), 20);
  expect_close(result.x, g.masked_fill(outside, 0));
  expect_close(result.learned, (g * x.sign() * outside).sum().reshape({1}));
}

TEST(FakeQuant, TheRangeIsTheSmallerOfAlphaAndTheAverage) {
  EXPECT_FLOAT_EQ(quantizer_of(Activation::kPact, 8, 2.0, 3.0).range(), 2.0f);
  EXPECT_FLOAT_EQ(quantizer_of(Activation::kPact, 8, 4.0, 3.0).range(), 3.0f);
  EXPECT_FLOAT_EQ(quantizer_of(Activation::kMovingAverage, 8, 0, 3.0).range(), 3.0f);
  EXPECT_FLOAT_EQ(quantizer_of(Activation::kLsq, 8, 0.5, 3.0).range(), 0.5f);
}

TEST(FakeQuant, TheMovingAverageIsPaddles) {
  InputQuantizer quantizer = quantizer_of(Activation::kMovingAverage, 8, 0, 0.001);
  quantizer.accum = number(1);
  for (double largest : {2.0, 4.0, 1.0}) quantizer.observe(at::tensor({-largest, 0.5}, at::kFloat));
  EXPECT_NEAR(quantizer.state.item<double>(), 3.439, 1e-5);
  EXPECT_NEAR(quantizer.accum.item<double>(), ((1 * 0.9 + 2) * 0.9 + 4) * 0.9 + 1, 1e-5);
  EXPECT_NEAR(quantizer.scale.item<double>(), quantizer.accum.item<double>() / 3.439, 1e-5);
}

TEST(FakeQuant, LsqIsWhatItsDefinitionSays) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({2, 3, 4, 4}) * 2, g = at::randn({2, 3, 4, 4});
  const double range = 1.25, levels = 7;
  const Result result = run(x, quantizer_of(Activation::kLsq, 4, range, 1.0), g);
  const at::Tensor v = x * (levels / range), inside = v.abs() <= levels;
  const at::Tensor integers = at::clamp(at::round(v), -levels - 1, levels);
  expect_close(result.y, integers * range / levels);
  expect_close(result.x, g * inside);
  const at::Tensor slope = at::where(inside, (integers - v) / levels, x.sign());
  expect_close(result.learned,
               ((g * slope).sum() / std::sqrt(static_cast<double>(x.numel()) * levels)).reshape({1}));
}

// The fused layer against its parts, with libtorch's own gradients.
TEST(FakeQuant, ALayerIsQuantizersAndAConvolution) {
  at::manual_seed(3);
  for (const bool depthwise : {false, true})
    for (const Activation kind : {Activation::kPact, Activation::kLsq}) {
      const at::Tensor x = (at::randn({2, 4, 6, 6}) * 2).contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor w = at::randn({depthwise ? 4 : 5, depthwise ? 1 : 4, 3, 3});
      Node node{.op = "conv2d", .inputs = {0, 1}, .outputs = {2}, .attrs = {}};
      node.attrs["paddings"] = std::vector<std::int64_t>{1, 1, 1, 1};
      node.attrs["strides"] = std::vector<std::int64_t>{2, 2};
      node.attrs["groups"] = std::int64_t{depthwise ? 4 : 1};
      const LayerQuantizer quantizer{.input = quantizer_of(kind, 8, 1.5, 2.0)};

      const auto leaves = [&] {
        return std::pair(x.clone().set_requires_grad(true), w.clone().set_requires_grad(true));
      };
      auto [x1, w1] = leaves();
      const at::Tensor y1 = quantized_layer(node, quantizer, x1, w1, nullptr, false, {});
      const at::Tensor g = at::randn(y1.sizes());
      (y1 * g).sum().backward();
      const at::Tensor learned1 = quantizer.input.learned.grad().clone();
      quantizer.input.learned.mutable_grad().reset();

      auto [x2, w2] = leaves();
      const at::Tensor y2 = at::conv2d(fake_quantize(x2, quantizer.input), quantizer.weight.quantized(w2), {},
                                       2, 1, 1, depthwise ? 4 : 1);
      (y2 * g).sum().backward();
      expect_close(y1, y2);
      expect_close(x1.grad(), x2.grad());
      expect_close(w1.grad(), w2.grad());
      expect_close(learned1, quantizer.input.learned.grad());
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
  const Graph graph = network_.bake();
  StateDict state;
  quant::write_fake_quant(graph, state);
  Graph read = quant::float_graph(graph);
  ASSERT_TRUE(quant::read_fake_quant(read, state));
  Network copy(std::move(read), at::kCPU);
  EXPECT_TRUE(copy.is_quantized());
  EXPECT_TRUE(at::equal(run_deployed(network_, x_), run_deployed(copy, x_)));
  EXPECT_TRUE(at::equal(network_.forward(x_), copy.forward(x_)));
  const auto names = [](const std::vector<Weight>& weights) {
    std::vector<std::string> names;
    for (const Weight& weight : weights) names.push_back(weight.name);
    return names;
  };
  EXPECT_EQ(names(copy.parameters()), names(network_.parameters()));
  EXPECT_EQ(names(copy.statistics()), names(network_.statistics()));
}

TEST_P(QuantizedNetwork, FoldingKeepsTheTrainedIntegers) {
  const Graph trained = network_.bake(), deployed = network_.deployed();
  const std::vector<quant::TrainedLayer> layers = quant::trained_layers(trained);
  ASSERT_EQ(layers.size(), 54u);  // 52 convolutions, 2 linear layers
  for (const quant::TrainedLayer& layer : layers) {
    const Node& node = *layer.weight;
    const Value& weight = trained.value(node.inputs[0]);
    const Tensor& integers = deployed.value(deployed.find_value(weight.name)).constant;
    ASSERT_EQ(integers.dtype(), DType::kInt8) << weight.name;
    const Tensor& abs_max = trained.value(node.inputs[1]).constant;
    const quant::QuantizedWeight expected = quant::quantize_weight(
        weight.constant, Quantization::of_abs_max(abs_max.data<float>(), attr<int>(node, "bits"),
                                                  attr<std::int64_t>(node, "axis")));
    const at::Tensor a = to_torch(integers).abs().to(at::kInt),
                     b = to_torch(expected.integers).abs().to(at::kInt);
    EXPECT_TRUE(at::equal(a, b)) << weight.name;
  }
  for (const Node& node : deployed.nodes) EXPECT_NE(node.op, "batch_norm");
}

// Ranges are parameters of the network, behind all others, so that an optimiser can treat them as a part.
TEST_P(QuantizedNetwork, RangesAreItsLastParameters) {
  const std::vector<Weight>& weights = network_.parameters();
  EXPECT_TRUE(std::ranges::is_sorted(weights, {}, &Weight::is_range));
  const auto ranges = static_cast<std::size_t>(std::ranges::count(weights, true, &Weight::is_range));
  std::set<const Node*> learned;
  for (const quant::TrainedLayer& layer : quant::trained_layers(network_.graph())) {
    if (GetParam().first != Activation::kMovingAverage) learned.insert(layer.input);
    if (GetParam().second == WeightScale::kLsq) learned.insert(layer.weight);
  }
  EXPECT_EQ(ranges, learned.size());
}

// A fake_quant node alone, for what is no layer, gives what the fused layers compute with.
TEST(FakeQuant, ANodeMayStandAlone) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 2, 3, 3});
  const auto number_of = [&](const char* name, float value) {
    return b.constant(name, Tensor::of<float>({1}, {value}));
  };
  const ValueId quantized =
      b.op("fake_quant",
           {x, number_of("scale", 3), number_of("alpha", 1.5f), number_of("state", 1), number_of("accum", 3)},
           {{"method", "pact"}});
  Network network(b.build({b.op("relu", {quantized})}), at::kCPU);
  ASSERT_EQ(network.parameters().size(), 1u);
  EXPECT_EQ(network.parameters()[0].name, "alpha");
  EXPECT_EQ(network.statistics().size(), 3u);
  at::manual_seed(5);
  const at::Tensor input = at::randn({4, 2, 3, 3}) * 2;
  const at::Tensor y = network.forward(input);
  expect_close(y, at::relu(fake_quantize(input, quantizer_of(Activation::kPact, 8, 1.5, 3.0))));
  y.sum().backward();
  expect_close(network.parameters()[0].tensor.grad(), (input > 1.5).sum().to(at::kFloat).reshape({1}));
  network.training = true;
  network.forward(input);
  EXPECT_FLOAT_EQ(network.statistics()[1].tensor.item<float>(), 1.9f);
}

// Layers that read the same tensor share its quantizer; which of them keep 8 bits decides for both.
TEST(LayersToQuantize, FollowTheOptions) {
  const Graph graph = models::build_model("resnet18", {.num_classes = 5, .img_size = 32, .width = 0.25});
  const QuantOptions options{.activation = Activation::kLsq,
                             .weight_bits = 4,
                             .activation_bits = 4,
                             .skip = {"layer1.*"},
                             .keep_8bit = {"first", "last", "layer2.0.downsample*"}};
  std::vector<std::string> in_8_bits;
  const auto layers = layers_to_quantize(graph, options);
  EXPECT_EQ(layers.size(), 17u);  // of 21
  for (const quant::FakeQuantLayer& layer : layers) {
    const Node& node = graph.nodes[static_cast<std::size_t>(layer.node)];
    const std::string name = quant::layer_name(graph.value(node.inputs[1]).name);
    EXPECT_FALSE(name.starts_with("layer1")) << name;
    EXPECT_EQ(layer.input.method, "lsq");
    EXPECT_EQ(layer.weight.method, "abs_max");
    EXPECT_EQ(layer.input.bits, layer.weight.bits);
    if (layer.input.bits == 8) in_8_bits.push_back(name);
  }
  EXPECT_EQ(in_8_bits, (std::vector<std::string>{"conv1", "layer2.0.downsample.0", "fc"}));
  EXPECT_THROW(layers_to_quantize(graph, {.skip = {"*"}}), Error);
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedNetwork,
                         testing::Values(std::pair(Activation::kPact, WeightScale::kChannelAbsMax),
                                         std::pair(Activation::kMovingAverage, WeightScale::kAbsMax),
                                         std::pair(Activation::kLsq, WeightScale::kLsq)));

}  // namespace
}  // namespace octet::train
