#include "data/transforms/padding.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/example_ops.h"

namespace octet {

namespace {

void check_size(const char* name, const std::array<int, 2>& size) {
  for (int side : size)
    if (side < 1 || side > kMaxPictureSide)
      fail("{} has a side of {} pixels; it must be between 1 and {}", name, side, kMaxPictureSide);
}

void pad(Example& example, int width, int height, const Border& border) {
  if (width > kMaxPictureSide || height > kMaxPictureSide)
    fail("a picture of {}x{} would be padded to {}x{}, which is too large", example.width(), example.height(),
         width, height);
  crop_example(example, {0, 0, width, height}, border.im_padding_value, border.label_padding_value);
}

// Whether the part has more than one class, and none with this share of its pixels.
bool is_varied(const Mask& mask, const Box& box, double ratio, int ignored) {
  std::array<std::int64_t, 256> counts{};
  for (int y = box.top; y < std::min(box.top + box.height, mask.height); ++y)
    for (int x = box.left; x < std::min(box.left + box.width, mask.width); ++x) ++counts[mask.row(y)[x]];
  if (ignored >= 0 && ignored < 256) counts[static_cast<std::size_t>(ignored)] = 0;
  std::int64_t all = 0, largest = 0, classes = 0;
  for (std::int64_t count : counts) {
    all += count;
    largest = std::max(largest, count);
    classes += count > 0;
  }
  return classes > 1 && static_cast<double>(largest) / static_cast<double>(all) < ratio;
}

}  // namespace

void Border::settings(Settings& settings) {
  settings.optional("im_padding_value", im_padding_value);
  settings.optional("label_padding_value", label_padding_value);
}

void Border::check() const {
  for (float value : im_padding_value)
    if (!(value >= 0 && value <= 255)) fail("im_padding_value is {}; it must be between 0 and 255", value);
  if (label_padding_value < 0 || label_padding_value > 255)
    fail("label_padding_value is {}; it must be between 0 and 255", label_padding_value);
}

const TransformRow Padding::kRow = transform_row<Padding>("Padding", TransformRow::Input::kEither,
                                                          /*is_random=*/false, /*gives_one_size=*/true);

void Padding::settings(Settings& settings) {
  settings.optional("target_size", target_size);
  border.settings(settings);
}

void Padding::check() const {
  check_size("target_size", target_size);
  border.check();
}

void Padding::apply(Example& example, Random&) const {
  const auto [width, height] = target_size;
  if (example.width() > width || example.height() > height)
    fail("a picture of {}x{} is larger than the {}x{} that Padding makes", example.width(), example.height(),
         width, height);
  pad(example, width, height, border);
}

const TransformRow PaddingByAspectRatio::kRow = transform_row<PaddingByAspectRatio>(
    "PaddingByAspectRatio", TransformRow::Input::kEither, /*is_random=*/false);

void PaddingByAspectRatio::settings(Settings& settings) {
  settings.optional("aspect_ratio", aspect_ratio);
  border.settings(settings);
}

void PaddingByAspectRatio::check() const {
  if (!(aspect_ratio > 0 && std::isfinite(aspect_ratio)))
    fail("aspect_ratio is {}; it must be a positive number", aspect_ratio);
  border.check();
}

void PaddingByAspectRatio::apply(Example& example, Random&) const {
  const double width = example.width(), height = example.height(), ratio = width / height;
  const double wanted_width = ratio < aspect_ratio ? height * aspect_ratio : width;
  const double wanted_height = ratio > aspect_ratio ? width / aspect_ratio : height;
  if (std::max(wanted_width, wanted_height) > kMaxPictureSide)
    fail("a picture of {}x{} would be padded to {}x{}, which is too large", width, height, wanted_width,
         wanted_height);
  pad(example, std::max(static_cast<int>(wanted_width), example.width()),
      std::max(static_cast<int>(wanted_height), example.height()), border);
}

const TransformRow RandomPaddingCrop::kRow = transform_row<RandomPaddingCrop>(
    "RandomPaddingCrop", TransformRow::Input::kEither, /*is_random=*/true, /*gives_one_size=*/true);

void RandomPaddingCrop::settings(Settings& settings) {
  settings.optional("crop_size", crop_size);
  border.settings(settings);
  settings.optional("category_max_ratio", category_max_ratio);
  settings.optional("ignore_index", ignore_index);
  settings.optional("loop_times", loop_times);
}

void RandomPaddingCrop::check() const {
  check_size("crop_size", crop_size);
  border.check();
  if (!(category_max_ratio > 0 && category_max_ratio <= 1))
    fail("category_max_ratio is {}; it must be above 0 and at most 1", category_max_ratio);
  if (loop_times < 1 || loop_times > 1000)
    fail("loop_times is {}; it must be between 1 and 1000", loop_times);
}

Box RandomPaddingCrop::choose(int width, int height, const Mask* mask, Random& random) const {
  Box box{0, 0, crop_size[0], crop_size[1]};
  if (width == box.width && height == box.height) return box;
  const int tries = mask && category_max_ratio < 1 ? loop_times : 1;
  for (int attempt = 0; attempt < tries; ++attempt) {
    box.top = static_cast<int>(random.below(std::max(height - box.height, 0) + 1));
    box.left = static_cast<int>(random.below(std::max(width - box.width, 0) + 1));
    if (tries > 1 && is_varied(*mask, box, category_max_ratio, ignore_index)) break;
  }
  return box;
}

void RandomPaddingCrop::apply(Example& example, Random& random) const {
  const Box box = choose(example.width(), example.height(), example.mask(), random);
  crop_example(example, box, border.im_padding_value, border.label_padding_value);
}

const TransformRow ScalingAndPaddingCrop::kRow = transform_row<ScalingAndPaddingCrop>(
    "scaling, RandomPaddingCrop", TransformRow::Input::kEither, /*is_random=*/true, /*gives_one_size=*/true);

void ScalingAndPaddingCrop::apply(Example& example, Random& random) const {
  const auto* steps = scaling.get<ResizeStepScaling>();
  const PictureSize size =
      steps ? steps->size_for(example, random) : scaling.get<ResizeRangeScaling>()->size_for(example, random);
  // Of the mask all is needed where its classes decide about the place.
  Mask whole;
  const bool looks = example.mask() && crop.category_max_ratio < 1;
  if (looks) whole = resize(*example.mask(), size.width, size.height, kPaddleSegDefault);
  const Box box = crop.choose(size.width, size.height, looks ? &whole : nullptr, random);
  const Box part{box.left, box.top, std::min(box.width, size.width - box.left),
                 std::min(box.height, size.height - box.top)};
  resize_part(example, size.width, size.height, kPaddleSegDefault, part);
  crop_example(example, {0, 0, box.width, box.height}, crop.border.im_padding_value,
               crop.border.label_padding_value);
}

}  // namespace octet
