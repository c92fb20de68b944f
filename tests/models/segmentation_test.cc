#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/inference.h"
#include "models/models.h"
#include "models/names.h"
#include "models/paddleseg.h"
#include "models/paddleseg_facts.h"
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

const SegmentationOptions kDeepLab = {.multi_grid = {1, 2, 4}, .aspp_ratios = {1, 12, 24, 36}};

const Known kNetworks[] = {
    {"bisenetv2", "BiSeNetV2", of_classes(2), 2510114, 5},
    {"deeplabv3_resnet50_os8", "DeepLabV3", of_classes(19, kDeepLab), 39068531, 1},
    {"deeplabv3p_resnet50_os8", "DeepLabV3P", of_classes(19, kDeepLab), 26723395, 1},
    {"gcnet_resnet50_os8", "GCNet", of_classes(19), 49632007, 2},
    {"pspnet_resnet50_os8", "PSPNet", of_classes(19), 67863942, 2},
    {"unet", "UNet", of_classes(19), 13406227, 1},
    {"pp_liteseg_stdc1", "PPLiteSeg", of_classes(19), 8336000, 3},
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
  const std::shared_ptr<const Executable> executable = prepare(graph, {});
  ThreadPool pool(2);
  std::map<Shape, std::vector<Tensor>> results_of;
  const std::vector<Answer> answers = octet::testing::paddleseg_answers(GetParam().type);
  ASSERT_FALSE(answers.empty());
  for (const Answer& answer : answers) {
    SCOPED_TRACE(fmt::format("{}x{}, output {}", answer.height, answer.width, answer.output));
    const Tensor x = octet::testing::scrambled_picture(answer.height, answer.width);
    std::vector<Tensor>& results = results_of[x.shape()];
    if (results.empty()) results = execute(executable, {x}, pool);
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
  EXPECT_LE(graph.nodes.size() + 5 * (GetParam().outputs - 1), trained.nodes.size());
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
  octet::testing::fill_scrambled(graph, octet::testing::paddleseg_parameters(GetParam().type));
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
  const Graph deeplab = build_model("deeplabv3p_resnet50_os8", narrow());
  EXPECT_NEAR(deviation(deeplab, "backbone.bb_3_0.conv1._conv.weight"), std::sqrt(2.0 / (64 * 9)), 1e-3);
  // Paddle's Conv2D takes the inputs of all groups for one.
  EXPECT_NEAR(deviation(deeplab, "head.aspp.aspp_blocks.1.depthwise_conv._conv.weight"),
              std::sqrt(2.0 / (256 * 9)), 1e-3);
  const Graph liteseg = build_model("pp_liteseg_stdc1", narrow());
  EXPECT_NEAR(deviation(liteseg, "backbone.features.7.conv_list.1.conv.weight"), 0.001, 1e-4);
  EXPECT_NEAR(deviation(liteseg, "ppseg_head.arm_list.2.conv_x._conv.weight"), std::sqrt(2.0 / (128 * 9)),
              2e-3);
  EXPECT_EQ(deviation(liteseg, "ppseg_head.arm_list.2._scale"), 1);
}

TEST(SegmentationModels, HaveTheOtherNetworksOfTheirFamilies) {
  // What the wider stride changes is where the images get smaller, not what there is to learn.
  const Graph fine = build_model("pspnet_resnet50_os8", narrow()),
              coarse = build_model("pspnet_resnet50_os16", narrow());
  EXPECT_EQ(trained_parameters(fine), trained_parameters(coarse));
  const auto dilations = [](const Graph& graph) {
    std::int64_t count = 0;
    for (const Node& node : graph.nodes)
      if (node.op == "conv2d") count += attr<std::vector<std::int64_t>>(node, "dilations")[0] > 1;
    return count;
  };
  EXPECT_EQ(dilations(fine), 6 + 3);
  EXPECT_EQ(dilations(coarse), 3);
  EXPECT_EQ(trained_parameters(build_model("pp_liteseg_stdc2", of_classes(19))), 12366464);
  for (const char* name : {"deeplabv3_resnet50_os16", "deeplabv3p_resnet50_os16", "gcnet_resnet50_os16"})
    EXPECT_EQ(run(build_model(name, narrow()), octet::testing::ramp({1, 3, 65, 33}))[0].shape(),
              (Shape{1, 3, 65, 33}))
        << name;
}

TEST(SegmentationModels, DoWhatTheirOptionsSay) {
  ModelOptions options = narrow();
  options.segmentation.enable_auxiliary_loss = false;
  EXPECT_EQ(build_model("gcnet_resnet50_os8", options).outputs.size(), 1u);
  EXPECT_EQ(build_model("pspnet_resnet50_os8", options).outputs.size(), 1u);
  options = narrow();
  options.segmentation.arm_out_chs = {32, 64, 128};
  options.segmentation.seg_head_inter_chs = {32, 64, 64};
  options.width = 1;
  const Graph liteseg = build_model("pp_liteseg_stdc1", options);
  EXPECT_EQ(liteseg.value(liteseg.find_value("seg_heads.0.conv._conv.weight")).shape, (Shape{32, 32, 3, 3}));
  options = narrow();
  options.segmentation = {.in_channels = 4, .align_corners = true, .lambd = 0.5, .use_deconv = true};
  EXPECT_EQ(run(build_model("bisenetv2", options), octet::testing::ramp({1, 4, 64, 32}))[0].shape(),
            (Shape{1, 3, 64, 32}));
  const Graph unet = build_model("unet", options);
  EXPECT_EQ(nodes_of(unet, "conv2d_transpose"), 4);
  EXPECT_EQ(run(unet, octet::testing::ramp({1, 4, 64, 32}))[0].shape(), (Shape{1, 3, 64, 32}));
}

TEST(SegmentationModels, RefuseOptionsThatDoNotFit) {
  const auto error_of = [](const char* name, const SegmentationOptions& segmentation) {
    ModelOptions options = narrow();
    options.segmentation = segmentation;
    try {
      build_model(name, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("deeplabv3_resnet50_os8", {.multi_grid = {1, 2}}),
            "multi_grid has 2 numbers; it has one for each of the last 3 blocks");
  EXPECT_EQ(error_of("deeplabv3_resnet50_os8", {.backbone_indices = {1, 2}}),
            "backbone_indices has 2 numbers; this network reads 1 stages of its backbone");
  EXPECT_EQ(error_of("gcnet_resnet50_os8", {.backbone_indices = {2, 4}}),
            "backbone_indices has 4; the stages of this backbone are 0 to 3");
  EXPECT_EQ(error_of("pp_liteseg_stdc1", {.arm_out_chs = {32, 64}}),
            "arm_out_chs has 2 numbers, and backbone_indices 3: one for each");
  EXPECT_EQ(error_of("deeplabv3_resnet50_os8", {.aspp_ratios = {0}}),
            "aspp_ratios has 0; its numbers can be anything from 1 to 65536");
  EXPECT_EQ(error_of("deeplabv3_resnet50_os8", {.aspp_ratios = {}}), "aspp_ratios is empty");
  EXPECT_EQ(error_of("bisenetv2", {.lambd = 0}), "lambd is 0; it can be anything from 0.05 to 16");
}

TEST(SegmentationModels, ReadABackboneAlone) {
  // What a classifier was trained with: the backbone's parameters without "backbone.", and a head.
  const Graph other = build_model("deeplabv3p_resnet50_os16", narrow(3, 7));
  StateDict state;
  for (const StateDict::Item& item : to_state_dict(other, "deeplabv3p_resnet50_os16").items)
    if (item.name.starts_with("backbone.")) state.set(item.name.substr(9), item.value);
  state.set("out.weight", {Tensor(DType::kFloat32, {2048, 1000})});
  state.set("conv1_1._conv.weight", {Tensor(DType::kFloat32, {8, 4, 3, 3})});
  state.items.erase(
      std::ranges::find(state.items, std::string("bb_0_0.conv0._conv.weight"), &StateDict::Item::name));
  Graph graph = build_model("gcnet_resnet50_os8", narrow());
  const PartialResult result = read_what_fits(graph, state, "gcnet_resnet50_os8", "backbone");
  EXPECT_EQ(result.total, 275);
  EXPECT_EQ(result.loaded, 273);
  EXPECT_THAT(result.missing, ::testing::ElementsAre("backbone.bb_0_0.conv0._conv.weight 8x8x1x1"));
  EXPECT_THAT(result.differing,
              ::testing::ElementsAre("conv1_1._conv.weight is float32 8x4x3x3, expected float32 8x3x3x3"));
  EXPECT_THAT(result.unused, ::testing::ElementsAre("out.weight"));
  const auto tensor = [](const Graph& g, const char* name) {
    return g.value(g.find_value(name)).constant.bytes();
  };
  EXPECT_TRUE(std::ranges::equal(tensor(graph, "backbone.bb_3_2.conv2._conv.weight"),
                                 tensor(other, "backbone.bb_3_2.conv2._conv.weight")));
  EXPECT_FALSE(std::ranges::equal(tensor(graph, "backbone.conv1_1._conv.weight"),
                                  tensor(other, "backbone.conv1_1._conv.weight")));
}

TEST(SegmentationModels, ReadWhatFitsOfACheckpoint) {
  const StateDict state = to_state_dict(build_model("bisenetv2", narrow(5, 2)), "bisenetv2");
  Graph graph = build_model("bisenetv2", narrow(3));
  const PartialResult result = read_what_fits(graph, state, "bisenetv2");
  EXPECT_EQ(result.total, 356);
  EXPECT_EQ(result.loaded, 346);
  EXPECT_EQ(result.differing.size(), 10u);  // weight and bias of five heads
  EXPECT_TRUE(result.missing.empty() && result.unused.empty());
  EXPECT_EQ(num_classes_of(state, "bisenetv2", "file"), 5);
  EXPECT_FALSE(read_parameters(graph, state, "bisenetv2", "file", Head::kMayDiffer).head_was_read);
}

TEST(SegmentationModels, HavePaddleSegsTypes) {
  const auto error_of = [](auto... words) {
    try {
      network_of_paddleseg(words...);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(network_of_paddleseg("BiSeNetV2"), "bisenetv2");
  EXPECT_EQ(network_of_paddleseg("DeepLabV3P", "ResNet50_vd"), "deeplabv3p_resnet50_os8");
  EXPECT_EQ(network_of_paddleseg("DeepLabV3", "ResNet50_vd", 16), "deeplabv3_resnet50_os16");
  EXPECT_EQ(network_of_paddleseg("PPLiteSeg", "STDC2"), "pp_liteseg_stdc2");
  EXPECT_EQ(error_of("DeepLabv3P", "ResNet50_vd"),
            "the model 'DeepLabv3P' is not known, did you mean DeepLabV3P?; there are BiSeNetV2, DeepLabV3, "
            "DeepLabV3P, "
            "GCNet, PSPNet, UNet, PPLiteSeg");
  EXPECT_EQ(error_of("PPLiteSeg", "STDC3"),
            "the backbone 'STDC3' is not known, did you mean STDC1?; there are STDC1, STDC2");
  EXPECT_EQ(error_of("GCNet", "ResNet50_vd", 32),
            "ResNet50_vd of GCNet has output_stride 32; it can be 8 or 16");
  EXPECT_EQ(error_of("GCNet"), "GCNet needs a backbone; there is ResNet50_vd");
  EXPECT_EQ(error_of("UNet", "STDC1"), "UNet has no backbone; the config gives it 'STDC1'");
  for (const std::string& name : model_names()) EXPECT_NO_THROW(task_of(name));
}

}  // namespace
}  // namespace octet::models
