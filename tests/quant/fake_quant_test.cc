#include "quant/fake_quant.h"

#include <gmock/gmock.h>

#include <cmath>

#include "quant/deployable.h"
#include "quant/weights.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two convolutions that read the same tensor, one of them with a batch norm whose second factor is negative
// and whose third is 0, and a product.
Graph small_graph() {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 6, 6});
  const auto vector = [&](const std::string& name, std::vector<float> values) {
    return b.constant(name, Tensor::of<float>({4}, values));
  };
  const ValueId left = b.conv2d(x, b.constant("left.weight", ramp({4, 3, 3, 3}, 3)));
  const ValueId norm =
      b.op("batch_norm",
           {left, vector("bn.weight", {0.5f, -1.5f, 0, 2}), vector("bn.bias", {0.1f, 0, 1, 0}),
            vector("bn._mean", {0, 0.2f, 0, 0}), vector("bn._variance", {1, 4, 0.25f, 1})},
           {{"epsilon", 1e-5}});
  const ValueId right = b.conv2d(x, b.constant("right.weight", ramp({4, 3, 3, 3}, 5)));
  const ValueId flat = b.flatten(b.global_avg_pool(b.add(norm, right)));
  return b.build({b.matmul(flat, b.constant("fc.weight", ramp({4, 5}, 7)))});
}

std::vector<FakeQuantLayer> all_layers(const Graph& graph) {
  std::vector<FakeQuantLayer> layers;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i)
    if (weight_axis(graph, graph.nodes[static_cast<std::size_t>(i)]) >= 0) layers.push_back({.node = i});
  return layers;
}

// Ranges that hold all there is.
Graph trained_graph() {
  Graph graph = small_graph();
  insert_fake_quant(graph, all_layers(graph));
  const auto set = [&](const std::string& name, Tensor tensor) {
    graph.value(graph.find_value(name)).constant = std::move(tensor);
  };
  for (const std::string layer : {"left", "right", "fc"}) {
    const std::int64_t axis = layer == "fc" ? 1 : 0;
    const Tensor& weight = graph.value(graph.find_value(layer + ".weight")).constant;
    const Quantization quantization = quantize_weight(weight, axis, 8).quantization;
    Tensor abs_max(DType::kFloat32, {weight.dim(static_cast<std::size_t>(axis))});
    for (std::size_t c = 0; c < quantization.steps.size(); ++c)
      abs_max.mutable_data<float>()[c] = quantization.abs_max(c);
    set(layer + "._fake_quant_weight._scale", std::move(abs_max));
  }
  set("left._act_preprocess.alpha", Tensor::of<float>({1}, {1.5f}));
  set("left._fake_quant_input._scale", Tensor::of<float>({1}, {2.0f}));
  set("fc._fake_quant_input._scale", Tensor::of<float>({1}, {8.0f}));
  set("fc._act_preprocess.alpha", Tensor::of<float>({1}, {9.0f}));
  return graph;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(id == kNoValue ? "" : graph.value(id).name);
  return names;
}

TEST(InsertFakeQuant, StandsBeforeTheInputAndTheWeightsOfLayers) {
  Graph graph = small_graph();
  const std::size_t nodes = graph.nodes.size();
  insert_fake_quant(graph, all_layers(graph));
  verify(graph);
  infer_shapes(graph);
  EXPECT_EQ(graph.nodes.size(), nodes + 5);  // one tensor is read by two layers
  const std::vector<TrainedLayer> layers = trained_layers(graph);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].input, layers[1].input);
  EXPECT_THAT(names_of(graph, layers[0].input->inputs),
              ElementsAre("x", "left._fake_quant_input._scale", "left._act_preprocess.alpha",
                          "left._fake_quant_input._state", "left._fake_quant_input._accum"));
  EXPECT_THAT(names_of(graph, layers[1].weight->inputs),
              ElementsAre("right.weight", "right._fake_quant_weight._scale"));
  EXPECT_EQ(attr<std::int64_t>(*layers[1].weight, "axis"), 0);
  EXPECT_EQ(attr<std::int64_t>(*layers[2].weight, "axis"), 1);
  EXPECT_EQ(graph.value(layers[2].weight->inputs[1]).shape, Shape({5}));
  EXPECT_EQ(dump(float_graph(graph)), dump(small_graph()));
}

TEST(InsertFakeQuant, OnlyWhatIsListedAndWithItsMethod) {
  Graph graph = small_graph();
  std::vector<FakeQuantLayer> layers = all_layers(graph);
  layers.pop_back();
  layers[0].input = {.method = "lsq", .bits = 4};
  layers[0].weight = {.method = "lsq", .bits = 4, .per_channel = true};
  layers[1].input = {.method = "lsq", .bits = 6};
  layers[1].weight = {.method = "abs_max", .bits = 5};
  insert_fake_quant(graph, layers);
  EXPECT_EQ(graph.find_value("fc._fake_quant_input._scale"), kNoValue);
  const std::vector<TrainedLayer> trained = trained_layers(graph);
  ASSERT_EQ(trained.size(), 2u);
  const Node &input = *trained[0].input, &weight = *trained[1].weight;
  EXPECT_THAT(names_of(graph, input.inputs), ElementsAre("x", "left._fake_quant_input._scale"));
  EXPECT_EQ(attr<int>(input, "bits"), 6);  // the most that one of its readers has
  EXPECT_EQ(attr<std::int64_t>(weight, "axis"), -1);
  EXPECT_EQ(attr<int>(weight, "bits"), 5);
}

TEST(FakeQuantEntries, AreReadAsTheyWereWritten) {
  const Graph graph = trained_graph();
  StateDict state;
  write_fake_quant(graph, state);
  std::vector<std::string> names;
  for (const StateDict::Item& item : state.items) names.push_back(item.name);
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 8),
              ElementsAre("left._fake_quant_input._scale", "left._fake_quant_input._state",
                          "left._fake_quant_input._accum", "left._act_preprocess.alpha",
                          "left._fake_quant_input._bits", "left._fake_quant_input._moving_rate",
                          "left._fake_quant_weight._scale", "left._fake_quant_weight._bits"));
  EXPECT_EQ(names.size(), 24u);  // each layer has all, also where they share a tensor
  EXPECT_EQ(state.at("right._act_preprocess.alpha").data<float>()[0], 1.5f);
  Graph read = float_graph(graph);
  ASSERT_TRUE(read_fake_quant(read, state));
  StateDict again;
  write_fake_quant(read, again);
  for (const std::string& name : names)
    EXPECT_TRUE(std::ranges::equal(again.at(name).bytes(), state.at(name).bytes())) << name;

  Graph floats = small_graph();
  EXPECT_FALSE(read_fake_quant(floats, StateDict()));
  EXPECT_EQ(dump(floats), dump(small_graph()));
}

TEST(FakeQuantEntries, DamageIsNamed) {
  StateDict good;
  write_fake_quant(trained_graph(), good);
  const auto message = [&](const std::string& name, Tensor tensor) {
    StateDict state = good;
    state.set(name, {std::move(tensor)});
    return error_of([&] {
      Graph graph = small_graph();
      read_fake_quant(graph, state);
    });
  };
  EXPECT_THAT(message("left._fake_quant_input._bits", Tensor::of<std::int64_t>({1}, {9})),
              HasSubstr("2 to 8"));
  EXPECT_THAT(message("fc._act_preprocess.alpha", Tensor::of<float>({1}, {-1})),
              HasSubstr("the range of its input is -1"));
  EXPECT_THAT(message("fc._fake_quant_weight._scale", Tensor::of<float>({3}, {1, 1, 1})),
              HasSubstr("expected 1 or 5"));
}

TEST(Deployable, FactorsOfBatchNormsGoIntoScalesAndSigns) {
  const Graph trained = trained_graph(), deployed = deployable(trained);
  verify(deployed);
  for (const Node& node : deployed.nodes) EXPECT_TRUE(node.op != "batch_norm" && node.op != "fake_quant");
  const auto constant = [](const Graph& graph, const std::string& name) {
    return graph.value(graph.find_value(name)).constant;
  };
  const Tensor abs_max = constant(trained, "left._fake_quant_weight._scale");
  const QuantizedWeight before = quantize_weight(constant(trained, "left.weight"),
                                                 Quantization::of_abs_max(abs_max.data<float>(), 8, 0));
  const Tensor after = constant(deployed, "left.weight"), scale = constant(deployed, "left.weight@scale");
  ASSERT_EQ(after.dtype(), DType::kInt8);
  const double factors[] = {0.5 / std::sqrt(1 + 1e-5), -1.5 / std::sqrt(4 + 1e-5), 0,
                            2 / std::sqrt(1 + 1e-5)};
  for (std::size_t c = 0; c < 4; ++c) {
    const float expected = before.quantization.abs_max(c) * static_cast<float>(std::fabs(factors[c]));
    EXPECT_NEAR(scale.data<float>()[c], expected, 1e-6f * expected + 1e-29f);
    const int sign = factors[c] < 0 ? -1 : 1;
    for (std::size_t i = c * 27; i < (c + 1) * 27; ++i)
      EXPECT_EQ(after.data<std::int8_t>()[i], sign * before.integers.data<std::int8_t>()[i]);
  }
  EXPECT_THAT(values<float>(constant(deployed, "right.weight@scale")),
              ::testing::Pointwise(::testing::Eq(),
                                   values<float>(constant(trained, "right._fake_quant_weight._scale"))));
  EXPECT_EQ(constant(deployed, "x@scale").data<float>()[0], 1.5f);  // the smaller one of alpha and average

  const Tensor x = ramp({2, 3, 6, 6}, 4);
  const std::vector<float> expected = values<float>(run_graph(small_graph(), {x})[0]);
  for (const bool onnx_format : {true, false}) {
    const std::vector<float> found = values<float>(run_graph(deployable(trained, onnx_format), {x})[0]);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error += std::pow(static_cast<double>(found[i] - expected[i]), 2);
      size += std::pow(static_cast<double>(expected[i]), 2);
    }
    EXPECT_LT(error, 1e-3 * size) << onnx_format;
    EXPECT_GT(error, 0);
  }
}

TEST(Deployable, AFloatGraphStaysOne) {
  EXPECT_EQ(dump(deployable(small_graph())), dump(small_graph()));
}

}  // namespace
}  // namespace octet::quant
