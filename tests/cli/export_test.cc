#include <gmock/gmock.h>

#include "data/classification.h"
#include "data/deploy_yaml.h"
#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgramResult run_export(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(),
               {"export", "--width", "0.25", "--img-size", "32", "--save_inference_dir", "out"});
  return run_octet(words, box.path());
}

std::string error_of(const Sandbox& box, const std::vector<std::string>& words) {
  ProgramResult result = run_export(box, words);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::StartsWith("octet: error: "));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(box / "out"));
  return result.err;
}

TEST(ExportCommand, WritesAnInferenceModel) {
  Sandbox box;
  for (const char* checkpoint : {"checkpoint", "checkpoint/best", "checkpoint/best.pdparams"}) {
    ProgramResult result = run_export(box, {"--pretrained", checkpoint, "--num-classes", "3"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("wrote out/inference.pdiparams ("));
    std::string graph = run_octet({"info", "out", "--graph"}, box.path()).out;
    EXPECT_THAT(graph, HasSubstr("softmax"));
    EXPECT_THAT(graph, HasSubstr("batch_norm"));
    EXPECT_THAT(graph, HasSubstr("features.0.0.weight"));
    EXPECT_THAT(graph, Not(HasSubstr("dropout")));
    std::filesystem::remove_all(box / "out");
  }
  EXPECT_EQ(run_export(box, {"--pretrained", "checkpoint", "--no-softmax", "--model-name=model"}).exit_code,
            0);
  EXPECT_THAT(run_octet({"info", "out/model.pdmodel", "--graph"}, box.path()).out, Not(HasSubstr("softmax")));
}

TEST(ExportCommand, WritesOnnxInTheOpsetThatWasAskedFor) {
  Sandbox box;
  const std::string opset_18("\x42\x04\x0a\x00\x10\x12", 6);
  ProgramResult result = run_export(box, {"--pretrained", "checkpoint", "--format", "onnx", "--opset", "18"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_file(box / "out/inference.onnx"), HasSubstr(opset_18));
  EXPECT_THAT(read_file(box / "out/deploy.yaml"), HasSubstr("model: inference.onnx"));

  result = run_octet({"export", "--width", "0.25", "--img-size", "32", "--pretrained", "checkpoint",
                      "--save_inference_dir", "other/net.onnx"},
                     box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_file(box / "other/net.onnx"), Not(HasSubstr(opset_18)));
  EXPECT_THAT(run_octet({"info", "other/net.onnx", "--graph"}, box.path()).out, HasSubstr("softmax"));
}

TEST(ExportCommand, WritesThePreprocessing) {
  Sandbox box;
  EXPECT_EQ(run_export(box, {"--pretrained", "checkpoint"}).exit_code, 0);
  EXPECT_EQ(load_deploy_yaml(box / "out"), evaluation_transforms(36, 32));
  EXPECT_THAT(read_file(box / "out/deploy.yaml"), HasSubstr("model: inference.pdmodel"));

  // What training has left beside the checkpoint counts, and flags count more.
  const PreprocessOverrides mean{.mean = std::array{0.5f, 0.5f, 0.5f}};
  Transforms trained = merge(evaluation_transforms(32, 32), mean);
  write_file(box / "checkpoint/deploy.yaml", write_deploy_yaml(trained));
  EXPECT_EQ(run_export(box, {"--pretrained", "checkpoint", "--interpolation", "bicubic"}).exit_code, 0);
  trained = merge(trained, {.interpolation = Interpolation::kBicubic});
  EXPECT_EQ(load_deploy_yaml(box / "out"), trained);
}

TEST(ExportCommand, SaysWhatIsWrong) {
  Sandbox box;
  EXPECT_THAT(error_of(box, {}), HasSubstr("--pretrained"));
  EXPECT_THAT(error_of(box, {"--pretrained", "nowhere"}), HasSubstr("nowhere: no such checkpoint"));
  EXPECT_THAT(error_of(box, {"--pretrained", "photos"}), HasSubstr("photos: has neither best.pdparams nor"));
  EXPECT_THAT(error_of(box, {"--pretrained", "images/demo.jpg"}), HasSubstr("images/demo.jpg"));
  EXPECT_THAT(error_of(box, {"--pretrained", "checkpoint", "--model", "resnet19"}),
              HasSubstr("no network is called 'resnet19', did you mean resnet18?"));
  EXPECT_THAT(error_of(box, {"--pretrained", "checkpoint", "--num-classes", "10"}),
              HasSubstr("--num-classes 10: checkpoint/best.pdparams has 3 classes"));
  EXPECT_THAT(error_of(box, {"--pretrained", "checkpoint", "--width", "0.5"}),
              HasSubstr("checkpoint/best.pdparams: does not fit mobilenet_v3_small: "));
  EXPECT_THAT(error_of(box, {"--pretrained", "checkpoint", "--model", "mobilenet_v2"}),
              HasSubstr("is it a checkpoint of another network?"));
}

TEST(ExportCommand, IsWholeOrNotAtAll) {
  Sandbox box;
  write_file(box / "out", "a file is in the way");
  ProgramResult result = run_export(box, {"--pretrained", "checkpoint"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("out: cannot make this directory"));
}

}  // namespace
}  // namespace octet
