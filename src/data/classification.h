#pragma once
#include <array>
#include <optional>

#include "data/transform.h"
#include "data/transforms/normalize.h"

// The usual transforms of a classifier's pictures, made of what flags say.
namespace octet {

// The short side is resized, the centre is cut out (0: don't), the colours are normalised. The results are
// those of paddle.vision.transforms with the Pillow backend, to the bit.
Transforms evaluation_transforms(int resize_size = 256, int crop_size = 224,
                                 Interpolation interpolation = Interpolation::kBilinear,
                                 const Normalize& colors = kImageNetColors);

// What flags say: a field that is set takes the place of the file's. A size of 0 takes the transform out.
struct PreprocessOverrides {
  std::optional<int> resize_size = {};
  std::optional<int> crop_size = {};
  std::optional<Interpolation> interpolation = {};
  std::optional<std::array<float, 3>> mean = {};
  std::optional<std::array<float, 3>> std = {};

  bool operator==(const PreprocessOverrides&) const = default;
};

// `base` with the overrides, checked.
Transforms merge(const Transforms& base, const PreprocessOverrides& overrides);

// The flags of training. The defaults are the usual recipe for ImageNet.
struct TrainingPictures {
  int size = 224;  // of the square that comes out
  std::optional<int> pad =
      {};  // in place of random parts: the whole, cropped with so many pixels beyond the edge
  Interpolation interpolation = Interpolation::kBilinear;
  bool flip = true;
  bool auto_augment = false;
  double color_jitter = 0;  // of brightness, contrast and saturation
  double random_erase = 0;
  Normalize colors = kImageNetColors;

  bool operator==(const TrainingPictures&) const = default;
};

Transforms training_transforms(const TrainingPictures& pictures);

// How a model that is trained like this sees pictures afterwards: the short side is 8/7 of the square that is
// cut out of the centre (256 for 224), or as long as the square where training doesn't take random parts.
Transforms evaluation_transforms(const TrainingPictures& pictures);

}  // namespace octet
