#include "data/classification.h"

#include <algorithm>

#include "data/transforms/auto_augment.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_erasing.h"
#include "data/transforms/resize.h"

namespace octet {

Transforms evaluation_transforms(int resize_size, int crop_size, Interpolation interpolation,
                                 const Normalize& colors) {
  Transforms transforms;
  if (resize_size != 0) transforms.push_back(ResizeShort{resize_size, interpolation});
  if (crop_size != 0) transforms.push_back(CenterCrop{crop_size});
  transforms.push_back(colors);
  return transforms;
}

Transforms merge(const Transforms& base, const PreprocessOverrides& overrides) {
  const int resize_size = overrides.resize_size.value_or(-1), crop_size = overrides.crop_size.value_or(-1);
  Transforms transforms;
  bool resizes = find<ResizeShort>(base), crops = find<CenterCrop>(base);
  ResizeShort added{resize_size, overrides.interpolation.value_or(Interpolation::kBilinear)};
  if (overrides.resize_size && resize_size != 0 && !resizes) transforms.push_back(added);
  for (const Transform& transform : base) {
    if (const auto* resize = transform.get<ResizeShort>()) {
      if (overrides.resize_size == 0) continue;
      transforms.push_back(ResizeShort{overrides.resize_size.value_or(resize->size),
                                       overrides.interpolation.value_or(resize->interpolation)});
    } else if (const auto* crop = transform.get<CenterCrop>()) {
      if (overrides.crop_size != 0)
        transforms.push_back(CenterCrop{overrides.crop_size.value_or(crop->size)});
    } else if (const auto* colors = transform.get<Normalize>()) {
      if (overrides.crop_size && crop_size != 0 && !crops) transforms.push_back(CenterCrop{crop_size});
      transforms.push_back(
          Normalize{overrides.mean.value_or(colors->mean), overrides.std.value_or(colors->std)});
    } else {
      transforms.push_back(transform);
    }
  }
  check_transforms(transforms);
  return transforms;
}

Transforms training_transforms(const TrainingPictures& pictures) {
  Transforms transforms;
  if (pictures.pad) {
    transforms.push_back(ResizeShort{pictures.size, pictures.interpolation});
    transforms.push_back(RandomCrop{pictures.size, *pictures.pad});
  } else {
    transforms.push_back(RandomResizedCrop{.size = pictures.size, .interpolation = pictures.interpolation});
  }
  if (pictures.flip) transforms.push_back(RandomHorizontalFlip{});
  if (pictures.auto_augment) transforms.push_back(AutoAugment{});
  const double jitter = pictures.color_jitter;
  // Before erasing it is there even when it changes nothing: it draws an order, and a seed gives the same
  // rectangles with it and without.
  if (jitter != 0 || pictures.random_erase != 0)
    transforms.push_back(ColorJitter{.brightness = jitter, .contrast = jitter, .saturation = jitter});
  transforms.push_back(pictures.colors);
  if (pictures.random_erase != 0) transforms.push_back(RandomErasing{pictures.random_erase});
  return transforms;
}

Transforms evaluation_transforms(const TrainingPictures& pictures) {
  const int longer = std::min(pictures.size * 8 / 7, kMaxPictureSide);
  return evaluation_transforms(pictures.pad ? pictures.size : longer, pictures.size, pictures.interpolation,
                               pictures.colors);
}

}  // namespace octet
