#include "data/transform.h"

#include <algorithm>

#include "base/error.h"
#include "data/example_ops.h"
#include "data/transforms/auto_augment.h"
#include "data/transforms/channels.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/fit.h"
#include "data/transforms/flip.h"
#include "data/transforms/normalize.h"
#include "data/transforms/padding.h"
#include "data/transforms/random_blur.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_distort.h"
#include "data/transforms/random_erasing.h"
#include "data/transforms/random_rotation.h"
#include "data/transforms/resize.h"
#include "data/transforms/scaling.h"

namespace octet {

namespace {

constexpr const TransformRow* kTransforms[] = {
    &ResizeShort::kRow,
    &Resize::kRow,
    &ResizeByLong::kRow,
    &ResizeByShort::kRow,
    &LimitLong::kRow,
    &ResizeRangeScaling::kRow,
    &ResizeStepScaling::kRow,
    &Letterbox::kRow,
    &Padding::kRow,
    &PaddingByAspectRatio::kRow,
    &CenterCrop::kRow,
    &RandomResizedCrop::kRow,
    &RandomCrop::kRow,
    &RandomPaddingCrop::kRow,
    &RandomScaleAspect::kRow,
    &RandomRotation::kRow,
    &RandomHorizontalFlip::kRow,
    &RandomVerticalFlip::kRow,
    &AutoAugment::kRow,
    &ColorJitter::kRow,
    &RandomDistort::kRow,
    &RandomBlur::kRow,
    &ToGray::kRow,
    &ToBGR::kRow,
    &Normalize::kRow,
    &RandomErasing::kRow,
};

}  // namespace

std::span<const TransformRow* const> transform_table() {
  return kTransforms;
}

void check_next(const Transforms& before, const Transform& next) {
  const bool is_normalized = find<Normalize>(before) != nullptr;
  if (is_normalized != (next.row().input == TransformRow::Input::kPlanes))
    fail("transforms must come in the order of what they work on: {} can't be {} Normalize", next.row().name,
         is_normalized ? "behind" : "before");
  next.check();
}

void check_transforms(const Transforms& transforms) {
  Transforms before;
  for (const Transform& transform : transforms) {
    check_next(before, transform);
    before.push_back(transform);
  }
  const Normalize* colors = find<Normalize>(transforms);
  if (!colors)
    fail("'transforms' has no Normalize; one with mean [0, 0, 0] and std [1, 1, 1] gives pixels in [0, 1]");
  const auto is_one = [](const std::array<float, 3>& values) {
    return std::ranges::count(values, values[0]) == std::ssize(values);
  };
  if (find<ToGray>(transforms) && !(is_one(colors->mean) && is_one(colors->std)))
    fail("behind ToGray there is one channel: the mean and the std of Normalize are one number each");
}

bool gives_one_size(const Transforms& transforms) {
  return std::ranges::any_of(transforms, [](const Transform& t) {
    const auto* resize = t.get<Resize>();
    return t.row().gives_one_size && !(resize && resize->keep_ratio);
  });
}

PreparedTransforms::PreparedTransforms(const Transforms& transforms) {
  check_transforms(transforms);
  if (find<ToGray>(transforms)) channels_ = 1;
  for (const Transform& transform : transforms) {
    const CenterCrop* crop = transform.get<CenterCrop>();
    const RandomPaddingCrop* padding_crop = transform.get<RandomPaddingCrop>();
    const Transform* before = pixels_.empty() ? nullptr : &pixels_.back();
    const ResizeShort* resize = before ? before->get<ResizeShort>() : nullptr;
    const bool scales = before && (before->get<ResizeStepScaling>() || before->get<ResizeRangeScaling>());
    if (crop && resize)
      pixels_.back() = ResizeShortAndCenterCrop{*resize, *crop};
    else if (padding_crop && scales)
      pixels_.back() = ScalingAndPaddingCrop{*before, *padding_crop};
    else if (transform.get<Normalize>() || !planes_.empty())
      planes_.push_back(transform);
    else
      pixels_.push_back(transform);
  }
}

NeededPart PreparedTransforms::needed_part() const {
  if (pixels_.empty()) return {};
  const auto* both = pixels_.front().get<ResizeShortAndCenterCrop>();
  if (!both) return {};
  return [both](int width, int height) { return both->needed_part(width, height); };
}

void PreparedTransforms::apply_to_pixels(Example& example, Random& random) const {
  for (const Transform& transform : pixels_) {
    if (transform.row().input == TransformRow::Input::kPixels) make_bytes(example);
    transform.apply(example, random);
  }
}

std::optional<PixelValues> PreparedTransforms::pixel_values() const {
  const Normalize* colors = find<Normalize>(planes_);
  if (!colors || planes_.size() != 1 || channels_ != Image::kChannels) return std::nullopt;
  return colors->values();
}

void PreparedTransforms::apply_to_planes(Example& example, Random& random, std::span<float> planes) const {
  check(planes.size() == static_cast<std::size_t>(example.width()) *
                             static_cast<std::size_t>(example.height()) * static_cast<std::size_t>(channels_),
        "a picture's planes hold as many values as it has channels and pixels");
  example.planes = planes;
  for (const Transform& transform : planes_) transform.apply(example, random);
}

}  // namespace octet
