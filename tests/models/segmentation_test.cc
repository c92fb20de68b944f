#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/inference.h"
#include "models/models.h"
#include "models/names.h"
#include "models/paddleseg.h"
#include "octet/quantize.h"
#include "runtime/executor.h"
#include "support/small_models.h"

namespace octet::models {
namespace {

using octet::testing::Answer;
using octet::testing::Parameter;

std::vector<Tensor> run(const Graph& graph, const Tensor& x) {
  ThreadPool pool(2);
  return execute(prepare(graph, {}), {x}, pool);
}

std::int64_t nodes_of(const Graph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == op; });
}

std::int64_t trained_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (const Value& value : graph.values)
    if (value.is_constant() && !value.name.ends_with("_mean") && !value.name.ends_with("_variance") &&
        !value.name.ends_with("._scale"))
      count += value.constant.size();
  return count;
}

struct Known {
  const char* name;
  const char* type;  // PaddleSeg's
  ModelOptions options;
  std::int64_t parameters;  // that training learns
  std::size_t outputs;
};

ModelOptions of_classes(std::int64_t classes, SegmentationOptions segmentation = {}) {
  return {.num_classes = classes, .fresh_weights = false, .segmentation = std::move(segmentation)};
}

// Small ones, in which all is as in the large.
ModelOptions narrow(std::int64_t classes = 3, std::uint64_t seed = 1) {
  return {.num_classes = classes, .width = 0.125, .seed = seed};
}

const Known kNetworks[] = {
    {"bisenetv2", "BiSeNetV2", of_classes(2), 2510114, 5},
};

class Segmentation : public ::testing::TestWithParam<Known> {};

INSTANTIATE_TEST_SUITE_P(All, Segmentation, ::testing::ValuesIn(kNetworks),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Segmentation, HasPaddleSegsParameters) {
  const Graph graph = build_model(GetParam().name, GetParam().options);
  EXPECT_EQ(task_of(GetParam().name), Task::kSegmentation);
  EXPECT_EQ(trained_parameters(graph), GetParam().parameters);
  const StateDict state = to_state_dict(graph, GetParam().name);
  const std::vector<Parameter> wanted = octet::testing::paddleseg_parameters(GetParam().type);
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(state.items.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(state.items[i].name, wanted[i].name);
    EXPECT_EQ(to_string(state.at(state.items[i].name).shape()), wanted[i].shape) << wanted[i].name;
  }
}

TEST_P(Segmentation, AnswersAsPaddleSeg) {
  Graph graph = build_model(GetParam().name, GetParam().options);
  octet::testing::fill_scrambled(graph, octet::testing::paddleseg_parameters(GetParam().type));
  to_inference(graph, {.output = OutputOp::kNone, .keep_aux = true});
  const std::vector<Answer> answers = octet::testing::paddleseg_answers(GetParam().type);
  ASSERT_FALSE(answers.empty());
  for (const Answer& answer : answers) {
    SCOPED_TRACE(fmt::format("{}x{}, output {}", answer.height, answer.width, answer.output));
    const std::vector<Tensor> results =
        run(graph, octet::testing::scrambled_picture(answer.height, answer.width));
    ASSERT_EQ(results.size(), GetParam().outputs);
    const Tensor& scores = results[answer.output];
    const std::int64_t classes = GetParam().options.num_classes, pixels = answer.height * answer.width;
    ASSERT_EQ(scores.shape(), (Shape{1, classes, answer.height, answer.width}));
    const std::span<const float> s = scores.data<float>();
    double largest = 0, sum = 0, magnitudes = 0;
    for (float x : s) {
      largest = std::max(largest, static_cast<double>(std::abs(x)));
      sum += x;
      magnitudes += std::abs(x);
    }
    const double tolerance = 1e-5 * largest, count = static_cast<double>(s.size());
    EXPECT_NEAR(sum / count, answer.mean, tolerance);
    EXPECT_NEAR(magnitudes / count, answer.mean_magnitude, tolerance);
    for (const Answer::Point& p : answer.points)
      EXPECT_NEAR(s[static_cast<std::size_t>((p.channel * answer.height + p.row) * answer.width + p.column)],
                  p.score, tolerance)
          << p.channel << ", " << p.row << ", " << p.column;
    std::vector<std::int64_t> histogram(static_cast<std::size_t>(classes));
    for (std::int64_t i = 0; i < pixels; ++i) {
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c)
        if (s[static_cast<std::size_t>(c * pixels + i)] > s[static_cast<std::size_t>(best * pixels + i)])
          best = c;
      ++histogram[static_cast<std::size_t>(best)];
    }
    ASSERT_EQ(histogram.size(), answer.pixels.size());
    for (std::size_t c = 0; c < histogram.size(); ++c)  // a few pixels are close calls
      EXPECT_NEAR(static_cast<double>(histogram[c]), static_cast<double>(answer.pixels[c]), 2)
          << "class " << c;
  }
}

TEST_P(Segmentation, TakesPicturesOfAnySize) {
  const Graph graph = build_model(GetParam().name, narrow());
  ASSERT_EQ(graph.outputs.size(), GetParam().outputs);
  for (ValueId id : graph.outputs) EXPECT_EQ(graph.value(id).shape, (Shape{kUnknown, 3, kUnknown, kUnknown}));
  for (const Shape& shape : {Shape{1, 3, 32, 32}, Shape{2, 3, 33, 70}, Shape{1, 3, 97, 64}})
    for (const Tensor& scores : run(graph, octet::testing::ramp(shape)))
      EXPECT_EQ(scores.shape(), (Shape{shape[0], 3, shape[2], shape[3]}));
}

TEST_P(Segmentation, IsDeployedWithoutItsAuxiliaryHeads) {
  const Graph trained = build_model(GetParam().name, narrow());
  const Tensor x = octet::testing::ramp({1, 3, 64, 48});
  Graph graph = trained;
  to_inference(graph, {.output = OutputOp::kNone});
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(nodes_of(graph, "dropout"), 0);
  EXPECT_LT(graph.nodes.size(), trained.nodes.size());
  for (const Value& value : graph.values)
    EXPECT_FALSE(value.is_constant() && value.name.find("aux") != std::string::npos) << value.name;
  const Tensor scores = run(graph, x)[0];

  Graph with_softmax = trained;
  to_inference(with_softmax, {});
  const Tensor probabilities = run(with_softmax, x)[0];
  ASSERT_EQ(probabilities.shape(), scores.shape());
  const std::size_t pixels = 64 * 48;
  const auto p = probabilities.data<float>(), s = scores.data<float>();
  for (std::size_t i = 0; i < pixels; i += 97) EXPECT_NEAR(p[i] + p[pixels + i] + p[2 * pixels + i], 1, 1e-5);

  for (DType dtype : {DType::kInt64, DType::kInt32}) {
    Graph with_argmax = trained;
    to_inference(with_argmax, {.output = OutputOp::kArgmax, .class_dtype = dtype, .keep_aux = true});
    ASSERT_EQ(with_argmax.outputs.size(), GetParam().outputs);
    const Tensor classes = run(with_argmax, x)[0];
    ASSERT_EQ(classes.dtype(), dtype);
    ASSERT_EQ(classes.shape(), (Shape{1, 64, 48}));
    const std::vector<std::int64_t> best = to_int64s(classes);
    for (std::size_t i = 0; i < pixels; ++i) {
      const auto score = [&](std::int64_t c) { return s[static_cast<std::size_t>(c) * pixels + i]; };
      EXPECT_GE(score(best[i]), std::max({score(0), score(1), score(2)}) - 1e-6);
    }
  }
}

TEST_P(Segmentation, OfOneSizeComputesNoShapes) {
  Graph graph = build_model(GetParam().name, narrow());
  to_inference(graph, {.output = OutputOp::kNone});
  const Tensor x = octet::testing::ramp({2, 3, 64, 80});
  const Tensor expected = run(graph, x)[0].clone();
  fix_input_shape(graph, {kUnknown, 3, 64, 80});
  EXPECT_EQ(nodes_of(graph, "shape") + nodes_of(graph, "slice"), 0);
  for (const Node& node : graph.nodes) EXPECT_FALSE(node.op == "resize" && node.inputs.size() > 1);
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{kUnknown, 3, 64, 80}));
  EXPECT_TRUE(std::ranges::equal(run(graph, x)[0].bytes(), expected.bytes()));
  EXPECT_THROW(fix_input_shape(graph, {1, 4, 64, 80}), Error);
  EXPECT_THROW(fix_input_shape(graph, {3, 64, 80}), Error);
}

TEST_P(Segmentation, RunsInIntegers) {
  Graph graph = build_model(GetParam().name, narrow());
  to_inference(graph, {.output = OutputOp::kNone});
  const auto picture = [](std::int64_t i) {
    return octet::testing::ramp({1, 3, 64, 64}, static_cast<std::uint32_t>(i) + 7);
  };
  const BatchGenerator batches = [&](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i == 6) return false;
    const Tensor x = picture(i);
    inputs = {{x.shape(), {x.data<float>().begin(), x.data<float>().end()}}};
    return true;
  };
  QuantizeReport report;
  const Model quantized =
      quantize(Model(std::make_shared<const Graph>(graph)), batches,
               {.algo = "hist", .float_share = 0, .round_type = "round", .batch_num = 4}, &report);
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_GT(report.outputs[0].sqnr_db, 12);
  std::int64_t integer = 0, floats = 0;
  for (const Node& node : prepare(*quantized.graph(), {})->graph.nodes) {
    integer += node.op == "qconv2d";
    floats += node.op == "conv2d";
  }
  EXPECT_GT(integer, 10);
  EXPECT_EQ(floats, 0);
}

TEST(SegmentationModels, BeginAsPaddleSegs) {
  const auto deviation = [](const Graph& graph, const char* name) {
    double squares = 0;
    const ValueId id = graph.find_value(name);
    EXPECT_NE(id, kNoValue) << name;
    const std::span<const float> numbers = graph.value(id).constant.data<float>();
    for (float x : numbers) squares += static_cast<double>(x) * x;
    return std::sqrt(squares / static_cast<double>(numbers.size()));
  };
  const Graph bisenet = build_model("bisenetv2", {.num_classes = 19});
  EXPECT_NEAR(deviation(bisenet, "db.convs.7._conv.weight"), std::sqrt(2.0 / (128 * 9)), 1e-3);
  EXPECT_NEAR(deviation(bisenet, "sb.stage5_4.1.conv.1.depthwise_conv._conv.weight"), std::sqrt(2.0 / 9),
              2e-2);
  EXPECT_EQ(deviation(bisenet, "db.convs.7._conv.bias"), 0);
  EXPECT_EQ(deviation(bisenet, "db.convs.7._batch_norm.weight"), 1);
}

}  // namespace
}  // namespace octet::models
