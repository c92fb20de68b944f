// The recipes of configs/ can be read, and say what PaddleSeg's say.
#include <gmock/gmock.h>

#include <algorithm>

#include "cli/train.h"
#include "data/transforms/fit.h"
#include "data/transforms/padding.h"
#include "models/models.h"
#include "support/paths.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(kSourceDir) / "configs";
}

train::TrainOptions load(const std::string& name) {
  return load_config((folder() / name).string());
}

TEST(Configs, AllCanBeRead) {
  int segmentation = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder())) {
    const std::string extension = entry.path().extension().string();
    if ((extension != ".yml" && extension != ".yaml") || entry.path().parent_path().filename() == "_base_")
      continue;
    if (entry.path().filename() == "base.yaml") continue;
    SCOPED_TRACE(entry.path().string());
    const train::TrainOptions options = load_config(entry.path().string());
    if (options.task != train::TaskKind::kSegmentation) continue;
    ++segmentation;
    EXPECT_GT(options.iters, 0);
    EXPECT_GT(options.num_classes, 1);
    EXPECT_GT(options.lr, 0);
    EXPECT_TRUE(gives_one_size(options.train_transforms));
    const auto outputs =
        models::build_model(options.model, {.num_classes = options.num_classes, .fresh_weights = false})
            .outputs;
    EXPECT_EQ(options.losses.size(), outputs.size());
  }
  EXPECT_GE(segmentation, 12);
}

TEST(Configs, TheQuickStartIsThatOfTheTutorial) {
  const train::TrainOptions options = load("quick_start/bisenet_optic_disc_512x512_1k.yml");
  EXPECT_EQ(options.model, "bisenetv2");
  EXPECT_EQ(options.batch_size, 4);
  EXPECT_EQ(options.iters, 1000);
  EXPECT_EQ(options.weight_decay, 4e-5);
  EXPECT_EQ(options.lr, 0.01);
  EXPECT_EQ(options.losses.size(), 5u);
  EXPECT_EQ(options.train_masks.type, "OpticDiscSeg");
  ASSERT_TRUE(find<Resize>(options.val_transforms));
  EXPECT_EQ(*find<Resize>(options.val_transforms), (Resize{512, 512, Interpolation::kCvLinear}));
  EXPECT_EQ(options.export_transforms.size(), 1u);  // deploy.yaml of that date has Normalize alone
}

TEST(Configs, CityscapesOnesAreBasedOnOne) {
  const train::TrainOptions options = load("gcnet/gcnet_resnet50_os8_cityscapes_1024x512_80k.yml");
  EXPECT_EQ(options.model, "gcnet_resnet50_os8");
  EXPECT_EQ(options.num_classes, 19);
  EXPECT_EQ(options.lr_end, 1e-5);
  EXPECT_EQ(options.lr, 0.01);
  ASSERT_EQ(options.losses.size(), 2u);
  EXPECT_EQ(options.losses[1].coef, 0.4);
  EXPECT_EQ(find<RandomPaddingCrop>(options.train_transforms)->crop_size, (std::array{1024, 512}));
  const train::TrainOptions lite = load("pp_liteseg/pp_liteseg_stdc1_cityscapes_1024x512_scale1.0_160k.yml");
  EXPECT_EQ(lite.model, "pp_liteseg_stdc1");
  EXPECT_EQ(lite.losses[2].type, "OhemCrossEntropyLoss");
  EXPECT_EQ(lite.losses[2].min_kept, 130000);
  EXPECT_EQ(lite.warmup_iters, 1000);
  EXPECT_TRUE(lite.test.aug_eval);
}

}  // namespace
}  // namespace octet::cli
