#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

TEST(InfoCommand, WithoutAModelShowsTheMachine) {
  ProgramResult result = run_octet({"info"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\ncpu: "));
  EXPECT_THAT(result.out, HasSubstr("\n  ref         "));
  Json json = Json::parse(run_octet({"info", "--json"}).out);
  EXPECT_GE(json["threads"].get<int>(), 1);
  int defaults = 0;
  for (const Json& isa : json["isa"]) {
    defaults += isa["default"].get<bool>();
    EXPECT_TRUE(isa["available"].get<bool>() || isa["name"] != "ref");
  }
  EXPECT_EQ(defaults, 1);
}

TEST(InfoCommand, ShowsWhatAModelHolds) {
  Sandbox box;
  ProgramResult result = run_octet({"info", "model"}, box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* text :
       {"model/inference.pdmodel (", "model/inference.pdiparams (", "\n  x: float32 ?x3x?x?\n",
        "\n  y: float32 ?x3\n", "\nops: 4\n", "\n  matmul                 1\n",
        "\nparameters: 1 tensors, 9 elements, 36 B\n", "\nquantized: no\n"})
    EXPECT_THAT(result.out, HasSubstr(text));
  // A directory, a file, a flag: the same model.
  std::string json = run_octet({"info", "model", "--json"}, box.path()).out;
  EXPECT_EQ(run_octet({"info", "--json=True", "--model", "model"}, box.path()).out, json);
  EXPECT_EQ(run_octet({"info", "--json", "model/inference.pdmodel"}, box.path()).out, json);
}

TEST(InfoCommand, JsonCarriesTheSame) {
  Sandbox box;
  Json json = Json::parse(run_octet({"info", "model", "--json"}, box.path()).out);
  EXPECT_EQ(json["inputs"], Json::parse(R"([{"name": "x", "dtype": "float32", "shape": [-1, 3, -1, -1]}])"));
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  EXPECT_EQ(json["ops"], Json::parse(R"({"flatten": 1, "matmul": 1, "pool2d": 1, "softmax": 1})"));
  EXPECT_EQ(json["parameters"], Json::parse(R"({"tensors": 1, "elements": 9, "bytes": 36})"));
  EXPECT_EQ(json["quantized"], false);
  EXPECT_EQ(json["unknown_ops"], Json::array());
  EXPECT_EQ(json["files"].size(), 2u);
  EXPECT_EQ(json["files"][1]["bytes"], std::filesystem::file_size(box / "model/inference.pdiparams"));
}

TEST(InfoCommand, DumpsTheGraph) {
  Sandbox box;
  ProgramResult result = run_octet({"info", "--graph", "model"}, box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, Model::load(box / "model").dump());
  EXPECT_THAT(run_octet({"info", "--graph"}).err, HasSubstr("--graph needs a model"));
}

TEST(InfoCommand, CountsQuantizedLayers) {
  TempDir dir;
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId scale = b.constant("x.scale", Tensor::of<float>({1}, {2.0f}));
  ValueId weight = b.constant("w", Tensor::of<float>({1, 3, 1, 1}, {1, 2, 3}));
  ValueId q = b.op("quantize", {x, scale}, {{"dtype", std::string("float32")}});
  ValueId y = b.conv2d(b.op("dequantize", {q, scale}), weight);
  ValueId z = b.conv2d(x, weight);
  Model(std::make_shared<const Graph>(b.build({y, z}))).save(dir / "model");
  EXPECT_THAT(
      run_octet({"info", "model"}, dir.path()).out,
      HasSubstr(
          "quantized: Paddle's ONNX format (quantize_linear, dequantize_linear), 1 of 2 layers, 8 bits"));
  EXPECT_EQ(run_octet({"convert", "--model", "model", "--output", "model.onnx"}, dir.path()).exit_code, 0);
  EXPECT_THAT(run_octet({"info", "model.onnx"}, dir.path()).out,
              HasSubstr("quantized: ONNX's integers (QuantizeLinear, DequantizeLinear), 1 of 2 layers"));
}

TEST(InfoCommand, AnOpThatOctetDoesNotKnowIsAWarning) {
  TempDir dir;
  Sandbox box;
  // The tiny model, with the name of its softmax replaced by another of the same length.
  std::string program = read_file(box / "model/inference.pdmodel");
  std::size_t at = program.find("softmax", program.find("matmul"));
  ASSERT_NE(at, std::string::npos);
  for (; at != std::string::npos; at = program.find("softmax", at)) program.replace(at, 7, "softhat");
  write_file(box / "model/inference.pdmodel", program);
  ProgramResult result = run_octet({"info", "model"}, box.path());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, testing::StartsWith("octet: warning: "));
  EXPECT_THAT(result.err, HasSubstr("softhat"));
  ProgramResult run = run_octet({"run", "--model", "model", "--input", "x.npy"}, box.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("softhat"));
}

// The plan's shapes without a name are for one input after the other; elsewhere there is but one such shape.
TEST(InfoCommand, EveryShapeCounts) {
  Sandbox box;
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown}), y = b.input("y", {kUnknown, 3});
  save_model(b.build({b.mul(b.flatten(b.global_avg_pool(x)), y)}), box / "two", {.format = "onnx"});
  const auto info = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"info", "two"});
    return run_octet(words, box.path());
  };
  const ProgramResult plan = info({"--plan", "--input", "1x3x8x8", "--input", "1x3"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(info({"--input", "x=1x3x8x8", "--input", "y=7x3"}).out,
              testing::AllOf(HasSubstr("x: float32 1x3x8x8"), HasSubstr("y: float32 7x3")));
  const auto expect_refused = [](const ProgramResult& result, const std::string& part) {
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, testing::MatchesRegex("octet: error: [^\n]*\n"));
    EXPECT_THAT(result.err, HasSubstr(part));
  };
  expect_refused(info({"--input", "1x3x8x8", "--input", "1x3"}), "write NAME=SHAPE");
  expect_refused(info({"--input", "x=1x3x8x8", "--input", "x=1x3x9x9"}), "--input x=1x3x9x9");
  for (const char* word : {"ax3x4x4", "-1x3x4x4", "1x3x", "x.npy"})
    expect_refused(info({"--input", word}), "not a shape such as");
  expect_refused(
      run_octet({"convert", "--model", "two", "--output", "out", "--input", "1x3x8x8", "--input", "1x3x9x9"},
                box.path()),
      "write NAME=1x3x9x9 for another one");
}

TEST(InfoCommand, ABadModelIsOneLine) {
  Sandbox box;
  write_file(box / "model/inference.pdmodel", "not a model");
  ProgramResult result = run_octet({"info", "model"}, box.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::StartsWith("octet: error: model/inference.pdmodel"));
  EXPECT_EQ(run_octet({"info", "nothing"}, box.path()).exit_code, 2);
}

}  // namespace
}  // namespace octet
