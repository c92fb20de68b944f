#include "data/transforms/fit.h"

#include <algorithm>

#include "base/error.h"

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

const TransformRow Resize::kRow = transform_row<Resize>("Resize", TransformRow::Input::kPixels,
                                                        /*is_random=*/false, /*gives_one_size=*/true);

void Resize::settings(Settings& settings) {
  settings.required("width", width);
  settings.required("height", height);
  settings.optional("interpolation", interpolation);
}

void Resize::check() const {
  check_sides(width, height);
}

void Resize::apply(Example& example, Random&) const {
  example.image = resize(example.image, width, height, interpolation);
  if (Mask* mask = example.mask()) *mask = resize(*mask, width, height, interpolation);
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
