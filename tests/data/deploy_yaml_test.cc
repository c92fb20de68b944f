#include "data/deploy_yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "octet/error.h"
#include "support/damage.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::optional<Preprocess> read(const std::string& text) {
  return read_deploy_yaml(text, "deploy.yaml");
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeployYaml, ReadsBackWhatItWrote) {
  TempDir dir;
  Preprocess preprocess;
  preprocess.resize_size = 300;
  preprocess.crop_size = 0;
  preprocess.interpolation = Interpolation::kOpenCV;
  preprocess.mean = {0.1f, 1.0f / 3, 1e-7f};
  preprocess.std = {1, 2, 3e5f};
  write_file(dir / "deploy.yaml", write_deploy_yaml(preprocess, "inference.pdmodel", "inference.pdiparams"));
  EXPECT_EQ(load_deploy_yaml(dir.path()), preprocess);
  EXPECT_EQ(load_deploy_yaml(dir / "inference.pdmodel"), preprocess);

  write_file(dir / "deploy.yaml", write_deploy_yaml(Preprocess()));
  EXPECT_EQ(load_deploy_yaml(dir.path()), Preprocess());
}

TEST(DeployYaml, LooksLikeThis) {
  TempDir dir;
  write_file(dir / "deploy.yaml",
             write_deploy_yaml(Preprocess(), "inference.pdmodel", "inference.pdiparams"));
  EXPECT_EQ(read_file(dir / "deploy.yaml"),
            "Deploy:\n"
            "  model: inference.pdmodel\n"
            "  params: inference.pdiparams\n"
            "  transforms:\n"
            "    - type: ResizeShort\n"
            "      size: 256\n"
            "      interpolation: bilinear\n"
            "    - type: CenterCrop\n"
            "      size: 224\n"
            "    - type: Normalize\n"
            "      mean: [0.485, 0.456, 0.406]\n"
            "      std: [0.229, 0.224, 0.225]\n");
}

TEST(DeployYaml, MayBeAbsentOrSilent) {
  TempDir dir;
  EXPECT_EQ(load_deploy_yaml(dir.path()), std::nullopt);
  EXPECT_EQ(read("Deploy: {model: model.pdmodel, params: model.pdiparams}"), std::nullopt);
}

TEST(DeployYaml, ReadsWhatPaddleSegExports) {
  const auto preprocess = read(
      "Deploy:\n"
      "  input_shape: [-1, 3, -1, -1]\n"
      "  model: model.pdmodel\n"
      "  output_dtype: int32\n"
      "  output_op: argmax\n"
      "  params: model.pdiparams\n"
      "  transforms:\n"
      "  - type: Normalize\n");
  ASSERT_TRUE(preprocess);
  EXPECT_EQ(preprocess->resize_size, 0);
  EXPECT_EQ(preprocess->crop_size, 0);
  EXPECT_EQ(preprocess->mean, (std::array{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(preprocess->std, (std::array{0.5f, 0.5f, 0.5f}));
}

TEST(DeployYaml, NamesTheLineOfAMistake) {
  const std::string begin = "Deploy:\n  transforms:\n";
  EXPECT_EQ(
      error_of(begin + "  - {type: Pad, size: 3}\n"),
      "deploy.yaml:3: transform 'Pad' is not supported; there are ResizeShort, CenterCrop and Normalize");
  EXPECT_EQ(error_of(begin + "  - type: CenterCrop\n    size: big\n"),
            "deploy.yaml:4: 'size' must be a positive whole number");
  EXPECT_THAT(error_of(begin + "  - type: CenterCrop\n    size: 0\n"),
              StartsWith("deploy.yaml:4: 'size' must be"));
  EXPECT_THAT(error_of(begin + "  - type: CenterCrop\n    size: [1]\n"),
              StartsWith("deploy.yaml:4: 'size' must be"));
  EXPECT_EQ(error_of(begin + "  - type: CenterCrop\n    size: 99999\n"),
            "deploy.yaml:3: the crop size is 99999; it must be between 0 (don't) and 16384");
  EXPECT_EQ(error_of(begin + "  - type: ResizeShort\n"), "deploy.yaml:3: ResizeShort needs a 'size'");
  EXPECT_EQ(error_of(begin + "  - type: ResizeShort\n    size: 3\n    interp: 1\n"),
            "deploy.yaml:5: 'interp' is not a setting of ResizeShort; there are type, size, interpolation");
  EXPECT_THAT(error_of(begin + "  - type: ResizeShort\n    size: 3\n    interpolation: best\n"),
              StartsWith("deploy.yaml:5: interpolation 'best' is not known"));
  EXPECT_EQ(error_of(begin + "  - type: Normalize\n    mean: [1, 2]\n"),
            "deploy.yaml:4: 'mean' must be a list of three numbers");
  EXPECT_THAT(error_of(begin + "  - type: Normalize\n    std: [1, 2, x]\n"),
              StartsWith("deploy.yaml:4: 'std' must be"));
  EXPECT_EQ(error_of(begin + "  - type: Normalize\n    std: [1, 2, 0]\n"),
            "deploy.yaml:3: a std is 0; it must be a positive number");
  EXPECT_THAT(error_of(begin + "  - type: Normalize\n    std: [1, 2, .nan]\n"), HasSubstr("a std is nan"));
  EXPECT_THAT(error_of(begin + "  - type: Normalize\n  - {type: CenterCrop, size: 4}\n"),
              StartsWith("deploy.yaml:4: transforms must come in the order"));
  EXPECT_THAT(error_of(begin + "  - {type: CenterCrop, size: 4}\n"), HasSubstr("has no Normalize"));
  EXPECT_THAT(error_of(begin + "  - CenterCrop\n"), StartsWith("deploy.yaml:3: a transform must be a map"));
  EXPECT_THAT(error_of("Deploy:\n  transforms: yes\n"),
              StartsWith("deploy.yaml:2: 'transforms' must be a list"));
  EXPECT_THAT(error_of("Global: {}\n"), StartsWith("deploy.yaml:1: expected a section 'Deploy:'"));
  EXPECT_THAT(error_of(""), HasSubstr("expected a section 'Deploy:'"));
  EXPECT_THAT(error_of("Deploy:\n  a: [1\n"), StartsWith("deploy.yaml:3: not a YAML file: "));
}

TEST(DeployYaml, RefusesBombs) {
  EXPECT_THAT(error_of(std::string(2 << 20, ' ')), HasSubstr("2097152 bytes"));
  for (char bracket : {'[', '{'})
    EXPECT_EQ(error_of("Deploy: " + std::string(100000, bracket)),
              "deploy.yaml:1: nested too deeply for a deploy.yaml");
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(error_of(nested), HasSubstr("nested too deeply"));
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) laughs += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  EXPECT_THAT(error_of(laughs + "Deploy: {transforms: *a59}\n"), HasSubstr("a transform must be a map"));
}

TEST(DeployYaml, SurvivesDamage) {
  TempDir dir;
  write_file(dir / "deploy.yaml", write_deploy_yaml(Preprocess(), "inference.pdmodel"));
  const std::string good = read_file(dir / "deploy.yaml");
  ASSERT_TRUE(reads(good, read));
  for (std::size_t size = 0; size < good.size(); ++size) reads(good.substr(0, size), read);
  expect_survives_damage(good, read, good.size(), 2000);
}

}  // namespace
}  // namespace octet
