#pragma once
#include "data/mask.h"
#include "train/training_folder.h"

// For tests of `octet train` on pictures with masks.
namespace octet::testing {

// A bright disc on noise; the mask is 1 on the disc, and 255 on its edge.
inline void write_disc(const std::filesystem::path& root, const std::string& name, int width, int height,
                       std::uint64_t number) {
  Random random({number});
  Image image(width, height);
  Mask mask(width, height);
  const double radius = 8 + 8 * random.uniform(), x0 = width * (0.3 + 0.4 * random.uniform()),
               y0 = height * (0.3 + 0.4 * random.uniform());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double distance = std::hypot(x - x0, y - y0) - radius;
      for (int c = 0; c < 3; ++c)
        image.row(y)[3 * x + c] =
            static_cast<std::uint8_t>(random.below(100) + (distance < 0 ? 150 : 20 * c));
      mask.row(y)[x] = std::abs(distance) < 0.5 ? Mask::kIgnored : distance < 0 ? 1 : 0;
    }
  write_file(root / "JPEGImages" / (name + ".png"), encode_png(image));
  write_file(root / "Annotations" / (name + ".png"), encode_mask(mask));
}

// A folder with a data set in OpticDiscSeg's layout, 12 pictures of 64 x 64 to train on and 3 of several
// sizes to evaluate on, and a config for it, seg.yml.
struct Discs : TempDir {
  Discs() {
    namespace fs = std::filesystem;
    fs::create_directories(*this / "data/JPEGImages");
    fs::create_directories(*this / "data/Annotations");
    std::string train, val;
    const auto add = [&](std::string& list, const std::string& name, int width, int height,
                         std::uint64_t number) {
      write_disc(*this / "data", name, width, height, number);
      list += fmt::format("JPEGImages/{0}.png Annotations/{0}.png\n", name);
    };
    for (int i = 0; i < 12; ++i) add(train, fmt::format("t{}", i), 64, 64, static_cast<std::uint64_t>(i));
    add(val, "v0", 64, 64, 100);
    add(val, "v1", 80, 56, 101);
    add(val, "v2", 50, 67, 102);
    write_file(*this / "data/train_list.txt", train);
    write_file(*this / "data/val_list.txt", val);
    write_file(*this / "seg.yml",
               "batch_size: 4\niters: 6\n"
               "train_dataset:\n  type: OpticDiscSeg\n  dataset_root: data\n  mode: train\n  transforms:\n"
               "    - type: RandomHorizontalFlip\n    - type: Normalize\n"
               "val_dataset:\n  type: OpticDiscSeg\n  dataset_root: data\n  mode: val\n  transforms:\n"
               "    - type: Normalize\n"
               "optimizer:\n  type: sgd\n  momentum: 0.9\n  weight_decay: 4.0e-5\n"
               "lr_scheduler:\n  type: PolynomialDecay\n  learning_rate: 0.05\n  end_lr: 0\n  power: 0.9\n"
               "loss:\n  types:\n    - type: CrossEntropyLoss\n  coef: [1, 1, 1, 1, 1]\n"
               "model:\n  type: BiSeNetV2\n  width: 0.25\n  pretrained: null\n");
  }

  // In this folder, with flags that make it quick.
  ProgramResult train(const std::string& flags) const { return run_shell(command(flags), path()); }
  static std::string command(const std::string& flags) {
    return "octet train --config seg.yml --threads 1 --num_workers 1 --device cpu --log_iters 1 "
           "--save_interval 3 " +
           flags;
  }
  bool has(const std::string& file) const { return std::filesystem::exists(*this / file); }
};

}  // namespace octet::testing
