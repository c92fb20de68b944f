#include "data/transforms/resize.h"

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

struct Size {
  int width;
  int height;
};

Size resized(Size image, int target) {
  const auto scaled = [&](int from, int by) {
    const std::int64_t length = std::int64_t{target} * from / by;
    if (length > INT32_MAX)
      fail("a picture of {}x{} is too elongated to resize its short side to {}", image.width, image.height,
           target);
    return static_cast<int>(length);
  };
  if (image.width < image.height) return {target, scaled(image.height, image.width)};
  return {scaled(image.width, image.height), target};
}

// The central square of a picture of this size. It begins at half the rest, halves rounded to even as
// Python's round() does.
Box centered(Size size, int side) {
  const auto begin = [&](int length) {
    const int rest = length - side;
    const int half = rest >> 1;
    return rest % 2 != 0 && half % 2 != 0 ? half + 1 : half;
  };
  return {begin(size.width), begin(size.height), side, side};
}

// The part of `box` that is inside of a picture of this size.
Box inside(Size size, const Box& box) {
  return {std::max(box.left, 0), std::max(box.top, 0), std::min(box.width, size.width),
          std::min(box.height, size.height)};
}

void check_size(const char* name, int size) {
  if (size < 1 || size > kMaxPictureSide)
    fail("{} is {}; it must be between 0 (don't) and {}", name, size, kMaxPictureSide);
}

}  // namespace

const TransformRow ResizeShort::kRow =
    transform_row<ResizeShort>("ResizeShort", TransformRow::Input::kPixels, /*is_random=*/false);

void ResizeShort::settings(Settings& settings) {
  settings.required("size", size);
  settings.optional("interpolation", interpolation);
}

void ResizeShort::check() const {
  check_size("the resize size", size);
}

void ResizeShort::apply(Example& example, Random&) const {
  const auto [width, height] = resized({example.image.width, example.image.height}, size);
  example.image = resize(example.image, width, height, interpolation);
  if (Mask* mask = example.mask()) *mask = resize(*mask, width, height, interpolation);
}

const TransformRow CenterCrop::kRow =
    transform_row<CenterCrop>("CenterCrop", TransformRow::Input::kPixels, /*is_random=*/false,
                              /*gives_one_size=*/true);

void CenterCrop::settings(Settings& settings) {
  settings.required("size", size);
}

void CenterCrop::check() const {
  check_size("the crop size", size);
}

void CenterCrop::apply(Example& example, Random&) const {
  const Box box = centered({example.image.width, example.image.height}, size);
  example.image = crop_with_border(example.image, box);
  if (Mask* mask = example.mask()) *mask = crop_with_border(*mask, box);
}

const TransformRow ResizeShortAndCenterCrop::kRow =
    transform_row<ResizeShortAndCenterCrop>("ResizeShort, CenterCrop", TransformRow::Input::kPixels, false);

void ResizeShortAndCenterCrop::settings(Settings&) {}
void ResizeShortAndCenterCrop::check() const {}

Box ResizeShortAndCenterCrop::needed_part(int width, int height) const {
  const Size size = resized({width, height}, resize.size);
  return read_by_resize(width, height, size.width, size.height, inside(size, centered(size, crop.size)));
}

void ResizeShortAndCenterCrop::apply(Example& example, Random&) const {
  const Size size = resized({example.image.width, example.image.height}, resize.size);
  const Box square = centered(size, crop.size), part = inside(size, square);
  const Box place{square.left - part.left, square.top - part.top, square.width, square.height};
  const auto cut = [&](const auto& picture) {
    return crop_with_border(octet::resize(picture, size.width, size.height, resize.interpolation, part),
                            place);
  };
  example.image = cut(example.image);
  if (Mask* mask = example.mask()) *mask = cut(*mask);
}

}  // namespace octet
