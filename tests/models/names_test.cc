#include "models/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/models.h"
#include "support/temp_dir.h"

namespace octet::models {
namespace {

using testing::HasSubstr;

const ModelOptions kSmall = {.num_classes = 4, .img_size = 32, .width = 0.25, .seed = 1};

Graph small(const char* model, std::uint64_t seed = 1) {
  ModelOptions options = kSmall;
  options.seed = seed;
  if (task_of(model) == Task::kSegmentation) options.width = 0.125;
  return build_model(model, options);
}

std::string variable_of(const StateDict& state, std::string_view name) {
  for (const auto& entry : state.parameter_names)
    if (entry.name == name) return entry.parameter;
  return "";
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

void expect_equal_parameters(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(a.values[i].constant.bytes(), b.values[i].constant.bytes()))
        << a.values[i].name;
}

TEST(Names, TranslatesMobileNetV3) {
  Graph graph = build_model("mobilenet_v3_small", {.num_classes = 10, .img_size = 32});
  auto names = paddle_vision_names(graph, "mobilenet_v3_small");
  EXPECT_EQ(names.size(), 210u);
  EXPECT_EQ(names["features.0.0.weight"], "conv.0.weight");
  EXPECT_EQ(names["features.1.block.0.0.weight"], "blocks.0.bottleneck_conv.0.weight");
  EXPECT_EQ(names["features.1.block.1.fc2.bias"], "blocks.0.mid_se.fc2.bias");
  EXPECT_EQ(names["features.1.block.2.1._mean"], "blocks.0.linear_conv.1._mean");
  EXPECT_EQ(names["features.2.block.0.0.weight"], "blocks.1.expand_conv.0.weight");
  EXPECT_EQ(names["features.2.block.1.1._variance"], "blocks.1.bottleneck_conv.1._variance");
  EXPECT_EQ(names["features.2.block.2.0.weight"], "blocks.1.linear_conv.0.weight");
  EXPECT_EQ(names["features.11.block.3.0.weight"], "blocks.10.linear_conv.0.weight");
  EXPECT_EQ(names["features.12.1.weight"], "lastconv.1.weight");
  EXPECT_EQ(names["classifier.3.bias"], "classifier.3.bias");
}

TEST(Names, WritesAndReadsBothNamings) {
  for (const std::string& model : model_names()) {
    Graph graph = small(model.c_str());
    for (Naming naming : {Naming::kReference, Naming::kPaddleVision}) {
      Graph other = small(model.c_str(), 2);
      StateDict state = to_state_dict(graph, model, naming);
      EXPECT_EQ(num_classes_of(state, model, "file"), 4);
      ReadResult result = read_parameters(other, state, model, "file");
      EXPECT_TRUE(result.head_was_read);
      EXPECT_NO_THROW(check_all_used(result, state, model, "file"));
      expect_equal_parameters(graph, other);
    }
  }
}

TEST(Names, NumbersVariablesAsPaddleDoes) {
  StateDict mobilenet = to_state_dict(small("mobilenet_v3_small"), "mobilenet_v3_small");
  EXPECT_EQ(variable_of(mobilenet, "features.0.0.weight"), "conv2d_0.w_0");
  EXPECT_EQ(variable_of(mobilenet, "features.0.1._mean"), "batch_norm2d_0.w_1");
  EXPECT_EQ(variable_of(mobilenet, "features.0.1._variance"), "batch_norm2d_0.w_2");
  EXPECT_EQ(variable_of(mobilenet, "features.1.block.1.fc1.bias"), "conv2d_2.b_0");
  EXPECT_EQ(variable_of(mobilenet, "classifier.3.weight"), "linear_1.w_0");
  StateDict resnet = to_state_dict(small("resnet18"), "resnet18");
  EXPECT_EQ(variable_of(resnet, "layer2.0.downsample.0.weight"), "conv2d_5.w_0");
  EXPECT_EQ(variable_of(resnet, "layer2.0.conv1.weight"), "conv2d_6.w_0");
  EXPECT_EQ(variable_of(resnet, "layer2.0.bn1.bias"), "batch_norm2d_6.b_0");
}

TEST(Names, ReadsOtherFloats) {
  Graph graph = small("mobilenet_v2"), other = small("mobilenet_v2", 2);
  StateDict state = to_state_dict(graph, "mobilenet_v2");
  for (auto& item : state.items) item.value = {state.at(item.name).cast(DType::kFloat64)};
  read_parameters(other, state, "mobilenet_v2", "file");
  expect_equal_parameters(graph, other);
}

TEST(Names, HandsBackWhatItDoesNotKnow) {
  Graph graph = small("mobilenet_v2");
  StateDict state = to_state_dict(graph, "mobilenet_v2");
  state.set("features.0.0._fake_quant_input._scale", {Tensor::of<float>({1}, {2})});
  state.set("epoch", {std::int64_t{3}});
  ReadResult result = read_parameters(graph, state, "mobilenet_v2", "m.pdparams");
  EXPECT_THAT(result.unused, testing::ElementsAre("features.0.0._fake_quant_input._scale", "epoch"));
  EXPECT_EQ(
      error_of([&] { check_all_used(result, state, "mobilenet_v2", "m.pdparams"); }),
      "m.pdparams: has 1 tensors that mobilenet_v2 does not have (features.0.0._fake_quant_input._scale "
      "1); is it a checkpoint of another network?");
}

TEST(Names, FindsCheckpoints) {
  TempDir dir;
  EXPECT_THAT(error_of([&] { find_checkpoint(dir / "run"); }),
              HasSubstr("run: no such checkpoint, nor is there run.pdparams"));
  EXPECT_THAT(error_of([&] { find_checkpoint(dir.path()); }),
              HasSubstr("has neither best.pdparams nor latest.pdparams, and 0 other *.pdparams"));
  write_file(dir / "other.pdparams", "");
  EXPECT_EQ(find_checkpoint(dir.path()), dir / "other.pdparams");
  EXPECT_EQ(find_checkpoint(dir / "other"), dir / "other.pdparams");
  write_file(dir / "more.pdparams", "");
  EXPECT_THAT(error_of([&] { find_checkpoint(dir.path()); }), HasSubstr("and 2 other *.pdparams"));
  write_file(dir / "latest.pdparams", "");
  EXPECT_EQ(find_checkpoint(dir.path()), dir / "latest.pdparams");
  write_file(dir / "best.pdparams", "");
  EXPECT_EQ(find_checkpoint(dir.path()), dir / "best.pdparams");
  EXPECT_EQ(find_checkpoint(dir / "more.pdparams"), dir / "more.pdparams");
}

TEST(Names, TakesABackboneWithAnotherHead) {
  Graph graph = small("resnet18");
  Graph ten = build_model("resnet18", {.num_classes = 10, .img_size = 32, .width = 0.25, .seed = 3});
  StateDict state = to_state_dict(ten, "resnet18");
  EXPECT_EQ(num_classes_of(state, "resnet18", "file"), 10);
  EXPECT_THAT(error_of([&] { read_parameters(graph, state, "resnet18", "r.pdparams"); }),
              HasSubstr("r.pdparams: does not fit resnet18: 2 of another shape (fc.weight is float32 128x10, "
                        "expected float32 128x4, fc.bias"));
  ReadResult result = read_parameters(graph, state, "resnet18", "r.pdparams", Head::kMayDiffer);
  EXPECT_FALSE(result.head_was_read);
  EXPECT_TRUE(result.unused.empty());
  EXPECT_EQ(graph.value(graph.find_value("fc.weight")).constant.shape(), (Shape{128, 4}));
}

TEST(Names, TellsOfAnotherNetwork) {
  Graph graph = small("mobilenet_v3_small");
  StateDict state = to_state_dict(small("resnet18"), "resnet18");
  EXPECT_EQ(error_of([&] { read_parameters(graph, state, "mobilenet_v3_small", "r.pdparams"); }),
            "r.pdparams: does not fit mobilenet_v3_small: 210 missing (features.0.0.weight 8x3x3x3, "
            "features.0.1.weight 8, features.0.1.bias 8, ...), 102 unexpected (conv1.weight 16x3x7x7, "
            "bn1.weight 16, bn1.bias 16, ...); is it a checkpoint of another network, or of another width?");
  EXPECT_THAT(error_of([&] { num_classes_of(state, "mobilenet_v3_small", "r.pdparams"); }),
              HasSubstr("r.pdparams: has no classifier.3.weight of two dimensions, the last layer of "
                        "mobilenet_v3_small, but 102 other items (conv1.weight 16x3x7x7, "));
  StateDict integers = to_state_dict(graph, "mobilenet_v3_small");
  integers.set("features.0.0.weight", {Tensor(DType::kInt8, {8, 3, 3, 3})});
  EXPECT_THAT(error_of([&] { read_parameters(graph, integers, "mobilenet_v3_small", "q.pdparams"); }),
              HasSubstr("features.0.0.weight is int8 8x3x3x3, expected float32 8x3x3x3"));
}

}  // namespace
}  // namespace octet::models
