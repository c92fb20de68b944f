#include "data/deploy_yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/classification.h"
#include "data/transform_yaml.h"
#include "data/transforms/auto_augment.h"
#include "data/transforms/channels.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/fit.h"
#include "data/transforms/flip.h"
#include "data/transforms/padding.h"
#include "data/transforms/random_blur.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_distort.h"
#include "data/transforms/random_rotation.h"
#include "data/transforms/scaling.h"
#include "octet/error.h"
#include "support/damage.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::optional<Transforms> read(const std::string& text) {
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
  const Transforms transforms = evaluation_transforms(300, 0, Interpolation::kOpenCV,
                                                      {.mean = {0.1f, 1.0f / 3, 1e-7f}, .std = {1, 2, 3e5f}});
  write_file(dir / "deploy.yaml", write_deploy_yaml(transforms, "inference.pdmodel", "inference.pdiparams"));
  EXPECT_EQ(load_deploy_yaml(dir.path()), transforms);
  EXPECT_EQ(load_deploy_yaml(dir / "inference.pdmodel"), transforms);

  write_file(dir / "deploy.yaml", write_deploy_yaml(evaluation_transforms()));
  EXPECT_EQ(load_deploy_yaml(dir.path()), evaluation_transforms());
}

TEST(DeployYaml, NamesOfClassesComeBack) {
  TempDir dir;
  const std::vector<std::string> names = {"cat", "no: 1", "0", "\xc3\xa4 \"b\"\n", ""};
  write_file(dir / "deploy.yaml", write_deploy_yaml(evaluation_transforms(), "", "", names));
  EXPECT_EQ(load_class_names(dir.path()), names);
  EXPECT_EQ(load_class_names(dir / "inference.pdmodel"), names);
  EXPECT_EQ(load_deploy_yaml(dir.path()), evaluation_transforms());
  write_file(dir / "deploy.yaml", write_deploy_yaml(evaluation_transforms()));
  EXPECT_TRUE(load_class_names(dir.path()).empty());
  EXPECT_TRUE(load_class_names(dir / "nowhere/model").empty());
}

TEST(DeployYaml, BadNamesOfClassesAreErrorsWithTheLine) {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      read_class_names(text, "deploy.yaml");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(problem("Deploy: {}\nclass_names: cat"), StartsWith("deploy.yaml:2: class_names needs a list"));
  EXPECT_THAT(problem("class_names:\n  - cat\n  - [dog]"),
              StartsWith("deploy.yaml:3: a name in class_names"));
  EXPECT_THAT(problem("class_names: ["), HasSubstr("not a YAML file"));
}

TEST(DeployYaml, LooksLikeThis) {
  TempDir dir;
  write_file(dir / "deploy.yaml",
             write_deploy_yaml(evaluation_transforms(), "inference.pdmodel", "inference.pdiparams"));
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
  EXPECT_EQ(preprocess, Transforms{Normalize{}});
  EXPECT_EQ(Normalize().mean, (std::array{0.5f, 0.5f, 0.5f}));
}

TEST(DeployYaml, NamesTheLineOfAMistake) {
  const std::string begin = "Deploy:\n  transforms:\n";
  EXPECT_EQ(error_of(begin + "  - {type: Pad, size: 3}\n"),
            "deploy.yaml:3: transform 'Pad' is not supported; did you mean Padding?");
  EXPECT_EQ(error_of(begin + "  - {type: Turn, size: 3}\n"),
            "deploy.yaml:3: transform 'Turn' is not supported; there are ResizeShort, Resize, "
            "ResizeByLong, ResizeByShort, LimitLong, Letterbox, Padding, PaddingByAspectRatio, CenterCrop, "
            "ToGray, ToBGR and Normalize");
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
            "deploy.yaml:5: 'interp' is not a setting of ResizeShort; did you mean 'interpolation'?");
  EXPECT_THAT(error_of(begin + "  - type: ResizeShort\n    size: 3\n    interpolation: best\n"),
              StartsWith("deploy.yaml:5: interpolation 'best' is not known"));
  EXPECT_EQ(error_of(begin + "  - type: Normalize\n    mean: [1, 2]\n"),
            "deploy.yaml:4: 'mean' must be one number or a list of three");
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

TEST(DeployYaml, IsNotRandom) {
  EXPECT_EQ(error_of("Deploy:\n  transforms:\n  - type: AutoAugment\n  - type: Normalize\n"),
            "deploy.yaml:3: AutoAugment is random, which only training is; there are ResizeShort, Resize, "
            "ResizeByLong, ResizeByShort, LimitLong, Letterbox, Padding, PaddingByAspectRatio, CenterCrop, "
            "ToGray, ToBGR and Normalize");
}

// Every kind of transform, with other settings than the defaults where it has some.
TEST(TransformYaml, ReadsBackWhatItWrote) {
  Transforms transforms = training_transforms({.size = 33,
                                               .interpolation = Interpolation::kBicubic,
                                               .auto_augment = true,
                                               .color_jitter = 0.1,
                                               .random_erase = 0.3});
  transforms.insert(transforms.begin(),
                    RandomResizedCrop{.size = 7, .scale = {0.1, 0.3}, .ratio = {1.0 / 3, 3}});
  transforms.insert(transforms.begin(), RandomCrop{9, 4});
  transforms.insert(transforms.begin(), ColorJitter{.hue = 0.2});
  transforms.insert(transforms.begin(), Letterbox{.width = 3, .height = 4, .fill = 114});
  transforms.insert(transforms.begin(), Resize{5, 6, Interpolation::kNearest});
  transforms.insert(transforms.begin(), Resize{5, 6, Interpolation::kCvCubic, true, 32});
  transforms.insert(transforms.begin(), Resize{7, 8, Interpolation::kCvRandom});
  transforms.insert(transforms.begin(), ResizeByLong{50});
  transforms.insert(transforms.begin(), ResizeByShort{50, 99});
  transforms.insert(transforms.begin(), LimitLong{.max_long = 99});
  transforms.insert(transforms.begin(), ResizeRangeScaling{40, 50});
  transforms.insert(transforms.begin(), ResizeStepScaling{0.5, 2, 0});
  transforms.insert(transforms.begin(), Padding{{40, 50}, {{1, 2, 3.5f}, 7}});
  transforms.insert(transforms.begin(), PaddingByAspectRatio{.aspect_ratio = 1.5});
  transforms.insert(transforms.begin(), RandomPaddingCrop{.crop_size = {5, 6}, .category_max_ratio = 0.75});
  transforms.insert(transforms.begin(), RandomScaleAspect{0.25, 0.5});
  transforms.insert(transforms.begin(), RandomRotation{.max_rotation = 20});
  transforms.insert(transforms.begin(), RandomVerticalFlip{0.25});
  transforms.insert(transforms.begin(), RandomDistort{.hue_range = 9});
  transforms.insert(transforms.begin(), RandomBlur{0.5, "median"});
  transforms.insert(transforms.begin(), ToBGR{});
  transforms.insert(transforms.begin(), ToGray{});
  for (Transform& transform : transforms)
    if (transform.get<Normalize>()) transform = Normalize{{0.5f, 0.5f, 0.5f}, {2, 2, 2}};
  for (const Transform& transform : evaluation_transforms(8, 7))
    if (!transform.get<Normalize>()) transforms.insert(transforms.begin(), transform);
  const std::string text = write_transforms(transforms);
  EXPECT_EQ(read_transforms(text, "recipe.yaml", true), transforms);
  for (const TransformRow* row : transform_table())
    EXPECT_THAT(text, HasSubstr("- type: " + std::string(row->name) + "\n"));
}

TEST(TransformYaml, OneNumberStandsForAllChannels) {
  const Transforms expected = {Normalize{{0.5f, 0.5f, 0.5f}, {2, 2, 2}}};
  for (const char* text :
       {"[{type: Normalize, mean: 0.5, std: [2]}]", "[{type: Normalize, mean: [0.5], std: 2}]"})
    EXPECT_EQ(read_transforms(text, "x", false), expected);
  try {
    read_transforms("[{type: ToGray}, {type: Normalize, mean: [0, 0, 1]}]", "x", false);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("behind ToGray there is one channel"));
  }
}

TEST(DeployYaml, RefusesBombs) {
  EXPECT_THAT(error_of(std::string(2 << 20, ' ')), HasSubstr("2097152 bytes"));
  for (char bracket : {'[', '{'})
    EXPECT_EQ(error_of("Deploy: " + std::string(100000, bracket)),
              "deploy.yaml:1: nested too deeply, or a part of itself");
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(error_of(nested), HasSubstr("nested too deeply"));
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) laughs += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  EXPECT_THAT(error_of(laughs + "Deploy: {transforms: *a59}\n"), HasSubstr("more than 524288 values"));
  EXPECT_THAT(error_of("Deploy: &a {transforms: [*a]}\n"), HasSubstr("a part of itself"));
}

TEST(DeployYaml, SurvivesDamage) {
  TempDir dir;
  write_file(dir / "deploy.yaml", write_deploy_yaml(evaluation_transforms(), "inference.pdmodel"));
  const std::string good = read_file(dir / "deploy.yaml");
  ASSERT_TRUE(reads(good, read));
  for (std::size_t size = 0; size < good.size(); ++size) reads(good.substr(0, size), read);
  expect_survives_damage(good, read, good.size(), 2000);
}

}  // namespace
}  // namespace octet
