#include "data/transforms/scaling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/example_ops.h"

namespace octet {

namespace {

void check_side(const char* name, int side) {
  if (side < 1 || side > kMaxPictureSide)
    fail("{} is {}; it must be between 1 and {}", name, side, kMaxPictureSide);
}

// Halves to even, as Python's round() has it.
int scaled(int side, double scale) {
  const double result = std::nearbyint(side * scale);
  if (result > kMaxPictureSide)
    fail("a side of {} pixels would become one of {}, which is too much", side, result);
  return std::max(static_cast<int>(result), 1);
}

PictureSize scaled(const Example& example, double scale) {
  return {scaled(example.width(), scale), scaled(example.height(), scale)};
}

int long_side(const Example& example) {
  return std::max(example.width(), example.height());
}

void resize_to(Example& example, PictureSize size) {
  resize_example(example, size.width, size.height, kPaddleSegDefault);
}

PictureSize by_long(const Example& example, int length) {
  return scaled(example, static_cast<double>(length) / long_side(example));
}

template <class T>
constexpr TransformRow row(std::string_view name, bool is_random) {
  return transform_row<T>(name, TransformRow::Input::kEither, is_random);
}

}  // namespace

const TransformRow ResizeByLong::kRow = row<ResizeByLong>("ResizeByLong", /*is_random=*/false);

void ResizeByLong::settings(Settings& settings) {
  settings.required("long_size", long_size);
}

void ResizeByLong::check() const {
  check_side("long_size", long_size);
}

void ResizeByLong::apply(Example& example, Random&) const {
  resize_to(example, by_long(example, long_size));
}

const TransformRow ResizeByShort::kRow = row<ResizeByShort>("ResizeByShort", /*is_random=*/false);

void ResizeByShort::settings(Settings& settings) {
  settings.required("short_size", short_size);
  settings.optional("max_size", max_size);
}

void ResizeByShort::check() const {
  check_side("short_size", short_size);
  if (!(max_size >= 1)) fail("max_size is {}; it must be at least 1", max_size);
}

void ResizeByShort::apply(Example& example, Random&) const {
  const int short_side = std::min(example.width(), example.height());
  double scale = static_cast<double>(short_size) / short_side;
  if (scale * long_side(example) > max_size) scale = max_size / long_side(example);
  resize_to(example, scaled(example, scale));
}

const TransformRow LimitLong::kRow = row<LimitLong>("LimitLong", /*is_random=*/false);

void LimitLong::settings(Settings& settings) {
  settings.optional("max_long", max_long);
  settings.optional("min_long", min_long);
}

void LimitLong::check() const {
  if (max_long) check_side("max_long", *max_long);
  if (min_long) check_side("min_long", *min_long);
  if (max_long && min_long && *max_long < *min_long)
    fail("max_long is {}, less than min_long, {}", *max_long, *min_long);
}

void LimitLong::apply(Example& example, Random&) const {
  const int length = long_side(example);
  const int limited = std::max(std::min(length, max_long.value_or(length)), min_long.value_or(1));
  if (limited != length) resize_to(example, by_long(example, limited));
}

const TransformRow ResizeRangeScaling::kRow =
    row<ResizeRangeScaling>("ResizeRangeScaling", /*is_random=*/true);

void ResizeRangeScaling::settings(Settings& settings) {
  settings.optional("min_value", min_value);
  settings.optional("max_value", max_value);
}

void ResizeRangeScaling::check() const {
  check_side("min_value", min_value);
  check_side("max_value", max_value);
  if (min_value > max_value) fail("min_value is {}, more than max_value, {}", min_value, max_value);
}

PictureSize ResizeRangeScaling::size_for(const Example& example, Random& random) const {
  return by_long(example, static_cast<int>(random.uniform(min_value, max_value) + 0.5));
}

void ResizeRangeScaling::apply(Example& example, Random& random) const {
  resize_to(example, size_for(example, random));
}

const TransformRow ResizeStepScaling::kRow = row<ResizeStepScaling>("ResizeStepScaling", /*is_random=*/true);

void ResizeStepScaling::settings(Settings& settings) {
  settings.optional("min_scale_factor", min_scale_factor);
  settings.optional("max_scale_factor", max_scale_factor);
  settings.optional("scale_step_size", scale_step_size);
}

void ResizeStepScaling::check() const {
  if (!(min_scale_factor > 0 && min_scale_factor <= max_scale_factor && max_scale_factor <= 1000))
    fail("scale factors from {} to {}; both must be above 0, the smaller one first", min_scale_factor,
         max_scale_factor);
  if (!(scale_step_size >= 0))
    fail("scale_step_size is {}; it must be 0 or a positive number", scale_step_size);
}

PictureSize ResizeStepScaling::size_for(const Example& example, Random& random) const {
  double factor = min_scale_factor;
  if (min_scale_factor == max_scale_factor) return scaled(example, factor);
  if (scale_step_size == 0) {
    factor = random.uniform(min_scale_factor, max_scale_factor);
  } else {
    // As np.linspace spaces them, which is not exactly a step apart if that does not divide the range.
    const auto count = static_cast<std::int64_t>((max_scale_factor - min_scale_factor) / scale_step_size + 1);
    const auto which = static_cast<double>(random.below(count));
    if (count > 1) factor += (max_scale_factor - min_scale_factor) * which / static_cast<double>(count - 1);
  }
  return scaled(example, factor);
}

void ResizeStepScaling::apply(Example& example, Random& random) const {
  resize_to(example, size_for(example, random));
}

const TransformRow RandomScaleAspect::kRow = row<RandomScaleAspect>("RandomScaleAspect", /*is_random=*/true);

void RandomScaleAspect::settings(Settings& settings) {
  settings.optional("min_scale", min_scale);
  settings.optional("aspect_ratio", aspect_ratio);
}

void RandomScaleAspect::check() const {
  if (!(min_scale >= 0 && min_scale <= 1)) fail("min_scale is {}; it must be between 0 and 1", min_scale);
  if (!(aspect_ratio >= 0 && std::isfinite(aspect_ratio)))
    fail("aspect_ratio is {}; it must be 0 or a positive number", aspect_ratio);
}

void RandomScaleAspect::apply(Example& example, Random& random) const {
  if (min_scale == 0 || aspect_ratio == 0) return;
  const int width = example.width(), height = example.height();
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(width) * height * random.uniform(min_scale, 1.0);
    const double aspect = random.uniform(aspect_ratio, 1.0 / aspect_ratio);
    int w = static_cast<int>(std::sqrt(area * aspect)), h = static_cast<int>(std::sqrt(area / aspect));
    if (random.below(10) < 5) std::swap(w, h);
    if (h >= height || w >= width || h < 1 || w < 1) continue;
    const int top = static_cast<int>(random.below(height - h)),
              left = static_cast<int>(random.below(width - w));
    crop_example(example, {left, top, w, h}, {}, Mask::kIgnored);
    resize_to(example, {width, height});
    return;
  }
}

}  // namespace octet
