#include "data/transforms/fit.h"

#include <algorithm>

#include <cmath>

#include "base/error.h"
#include "data/example_ops.h"

namespace octet {

namespace {

void check_sides(int width, int height) {
  for (int side : {width, height})
    if (side < 1 || side > kMaxPictureSide)
      fail("a side of {} pixels; it must be between 1 and {}", side, kMaxPictureSide);
}

// from * by / of, rounded, and at least 1.
int scaled(int from, int by, int of) {
  return static_cast<int>(
      std::max<std::int64_t>((2 * std::int64_t{from} * by + of) / (2 * std::int64_t{of}), 1));
}

}  // namespace

const TransformRow Resize::kRow = transform_row<Resize>("Resize", TransformRow::Input::kEither,
                                                        /*is_random=*/false, /*gives_one_size=*/true);

void Resize::settings(Settings& settings) {
  const bool is_ours = !is_of_floats(interpolation);
  const bool has_width = settings.spelled("width", is_ours), has_height = settings.spelled("height", is_ours);
  const bool ours = has_width || has_height;
  if (ours) {
    settings.required("width", width);
    settings.required("height", height);
    settings.optional("interpolation", interpolation);
  }
  if (!settings.spelled("target_size", !is_ours) && ours) return;
  std::array<int, 2> target_size = {width, height};
  if (is_ours) interpolation = Interpolation::kCvLinear;
  settings.optional("target_size", target_size);
  settings.optional("interp", interpolation);
  if (settings.spelled("keep_ratio", keep_ratio)) settings.optional("keep_ratio", keep_ratio);
  settings.optional("size_divisor", size_divisor);
  width = target_size[0];
  height = target_size[1];
}

void Resize::check() const {
  check_sides(width, height);
  if (size_divisor && (*size_divisor < 1 || *size_divisor > kMaxPictureSide))
    fail("size_divisor is {}; it must be between 1 and {}", *size_divisor, kMaxPictureSide);
}

void Resize::apply(Example& example, Random& random) const {
  int to_width = width, to_height = height;
  if (keep_ratio) {
    const auto [short_side, long_side] = std::minmax({example.width(), example.height()});
    const double scale = std::min(static_cast<double>(std::max(width, height)) / long_side,
                                  static_cast<double>(std::min(width, height)) / short_side);
    to_width = std::max(static_cast<int>(std::nearbyint(example.width() * scale)), 1);
    to_height = std::max(static_cast<int>(std::nearbyint(example.height() * scale)), 1);
  }
  if (size_divisor) {
    to_width = (to_width + *size_divisor - 1) / *size_divisor * *size_divisor;
    to_height = (to_height + *size_divisor - 1) / *size_divisor * *size_divisor;
  }
  Interpolation how = interpolation;
  if (how == Interpolation::kCvRandom)
    how = static_cast<Interpolation>(static_cast<int>(Interpolation::kCvNearest) + random.below(5));
  resize_example(example, to_width, to_height, how);
}

const TransformRow Letterbox::kRow = transform_row<Letterbox>("Letterbox", TransformRow::Input::kPixels,
                                                              /*is_random=*/false, /*gives_one_size=*/true);

void Letterbox::settings(Settings& settings) {
  settings.required("width", width);
  settings.required("height", height);
  settings.optional("fill", fill);
  settings.optional("interpolation", interpolation);
}

void Letterbox::check() const {
  check_sides(width, height);
  if (fill < 0 || fill > 255) fail("the fill is {}; it must be between 0 and 255", fill);
}

void Letterbox::apply(Example& example, Random&) const {
  const Image& image = example.image;
  // The side that fills its place first decides.
  const bool is_wide = std::int64_t{image.width} * height >= std::int64_t{image.height} * width;
  const int inner_width = is_wide ? width : std::min(scaled(image.width, height, image.height), width);
  const int inner_height = is_wide ? std::min(scaled(image.height, width, image.width), height) : height;
  const Box place{-((width - inner_width) / 2), -((height - inner_height) / 2), width, height};

  const Image inner = resize(image, inner_width, inner_height, interpolation);
  Image out(width, height);
  std::ranges::fill(out.pixels, static_cast<std::uint8_t>(fill));
  for (int y = 0; y < inner_height; ++y)
    std::copy_n(inner.row(y), inner.stride(),
                out.row(y - place.top) + static_cast<std::size_t>(-place.left) * Image::kChannels);
  example.image = std::move(out);
  if (Mask* mask = example.mask())
    *mask = crop_with_border(resize(*mask, inner_width, inner_height, interpolation), place);
}

}  // namespace octet
