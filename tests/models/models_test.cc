#include "models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace octet::models {
namespace {

// Parameters that are trained: all constants but the statistics of batch norms.
std::int64_t trained_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (const Value& value : graph.values)
    if (value.is_constant() && !value.name.ends_with("._mean") && !value.name.ends_with("._variance"))
      count += value.constant.size();
  return count;
}

std::int64_t nodes_of(const Graph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == op; });
}

std::span<const float> weights(const Graph& graph, std::string_view name) {
  ValueId id = graph.find_value(name);
  EXPECT_NE(id, kNoValue) << name;
  return graph.value(id).constant.data<float>();
}

double deviation(std::span<const float> numbers) {
  double squares = 0;
  for (float x : numbers) squares += static_cast<double>(x) * x;
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

struct Known {
  const char* name;
  std::int64_t parameters, batch_norms, dropouts;
};

class Zoo : public testing::TestWithParam<Known> {};

// The counts that torchvision, Paddle and (for the Lite network) timm publish.
INSTANTIATE_TEST_SUITE_P(
    All, Zoo,
    testing::Values(Known{"mobilenet_v3_small", 2542856, 34, 1}, Known{"mobilenet_v3_large", 5483032, 46, 1},
                    Known{"mobilenet_v2", 3504872, 52, 1}, Known{"mobilenet_v1", 4231976, 27, 0},
                    Known{"resnet18", 11689512, 20, 0}, Known{"resnet34", 21797672, 36, 0},
                    Known{"resnet50", 25557032, 53, 0}, Known{"efficientnet_lite0", 4652008, 49, 1}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(Zoo, HasItsParameters) {
  Graph graph = build_model(GetParam().name);
  EXPECT_EQ(trained_parameters(graph), GetParam().parameters);
  EXPECT_EQ(nodes_of(graph, "batch_norm"), GetParam().batch_norms);
  EXPECT_EQ(nodes_of(graph, "dropout"), GetParam().dropouts);
  EXPECT_EQ(nodes_of(graph, "softmax"), 0);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{kUnknown, 3, 224, 224}));
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{kUnknown, 1000}));
}

TEST_P(Zoo, RunsOnSmallImagesAtAnyWidth) {
  for (std::int64_t size : {32, 33, 64}) {
    for (double width : {0.25, 0.6}) {
      Graph graph = build_model(GetParam().name, {.num_classes = 7, .img_size = size, .width = width});
      EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{kUnknown, 7}));
    }
  }
}

TEST_P(Zoo, HasTheWeightsOfItsSeed) {
  const ModelOptions options = {.num_classes = 3, .img_size = 32, .width = 0.25, .seed = 5};
  Graph first = build_model(GetParam().name, options), second = build_model(GetParam().name, options);
  Graph other = build_model(GetParam().name, {.num_classes = 3, .img_size = 32, .width = 0.25, .seed = 6});
  bool differs = false;
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    if (!first.values[i].is_constant()) continue;
    auto numbers = first.values[i].constant.data<float>();
    EXPECT_TRUE(std::ranges::equal(numbers, second.values[i].constant.data<float>()));
    differs = differs || !std::ranges::equal(numbers, other.values[i].constant.data<float>());
  }
  EXPECT_TRUE(differs);
}

TEST(Models, InitialisesAsUsual) {
  Graph mobilenet = build_model("mobilenet_v3_small");
  EXPECT_NEAR(deviation(weights(mobilenet, "features.12.0.weight")), std::sqrt(2.0 / 576), 0.001);
  EXPECT_NEAR(deviation(weights(mobilenet, "classifier.3.weight")), 0.01, 1e-4);
  EXPECT_THAT(weights(mobilenet, "classifier.3.bias"), testing::Each(0));
  EXPECT_THAT(weights(mobilenet, "features.3.block.1.1.weight"), testing::Each(1));
  EXPECT_THAT(weights(mobilenet, "features.3.block.1.1.bias"), testing::Each(0));
  EXPECT_THAT(weights(mobilenet, "features.3.block.1.1._mean"), testing::Each(0));
  EXPECT_THAT(weights(mobilenet, "features.3.block.1.1._variance"), testing::Each(1));
  Graph resnet = build_model("resnet18");
  EXPECT_NEAR(deviation(weights(resnet, "layer4.1.conv2.weight")), std::sqrt(2.0 / (512 * 9)), 1e-4);
  const float bound = 1 / std::sqrt(512.0f);
  EXPECT_THAT(weights(resnet, "fc.weight"),
              testing::Each(testing::AllOf(testing::Ge(-bound), testing::Lt(bound))));
  EXPECT_NEAR(deviation(weights(resnet, "fc.weight")), bound / std::sqrt(3.0), 1e-3);
}

TEST(Models, NamesWhatThereIs) {
  EXPECT_THAT(model_names(), testing::Contains("resnet50"));
  try {
    build_model("mobilenet_v3_smal");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'mobilenet_v3_smal', did you mean mobilenet_v3_small?"));
    EXPECT_THAT(error.what(), testing::HasSubstr("there are mobilenet_v3_small, mobilenet_v3_large, "));
  }
}

TEST(Models, RefusesAbsurdOptions) {
  EXPECT_THROW(build_model("resnet18", {.num_classes = 0}), Error);
  EXPECT_THROW(build_model("resnet18", {.img_size = -1}), Error);
  EXPECT_THROW(build_model("resnet18", {.width = 0}), Error);
  EXPECT_THROW(build_model("resnet18", {.width = std::nan("")}), Error);
}

}  // namespace
}  // namespace octet::models
