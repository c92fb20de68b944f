#include "data/example_ops.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/opencv_resize.h"

namespace octet {

namespace {

// What of the box is inside of a picture of this size.
Box inside(const Box& box, int width, int height) {
  const int left = std::max(box.left, 0), top = std::max(box.top, 0);
  return {left, top, std::max(std::min(box.left + box.width, width) - left, 0),
          std::max(std::min(box.top + box.height, height) - top, 0)};
}

template <class Picture, class T, std::size_t kSize>
Picture cropped(const Picture& picture, const Box& box, const std::array<T, kSize>& fill) {
  constexpr auto kChannels = static_cast<std::size_t>(Picture::kChannels);
  static_assert(kSize == kChannels);
  Picture out(box.width, box.height);
  const Box part = inside(box, picture.width, picture.height);
  if (part.width != box.width || part.height != box.height)
    for (std::size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = fill[i % kChannels];
  for (int y = 0; y < part.height && part.width > 0; ++y)
    std::copy_n(picture.row(part.top + y) + static_cast<std::size_t>(part.left) * kChannels,
                static_cast<std::size_t>(part.width) * kChannels,
                out.row(part.top + y - box.top) + static_cast<std::size_t>(part.left - box.left) * kChannels);
  return out;
}

bool is_whole(const std::array<float, 3>& fill) {
  return std::ranges::all_of(fill, [](float v) { return v >= 0 && v <= 255 && v == std::floor(v); });
}

}  // namespace

void make_floats(Example& example) {
  if (example.is_float()) return;
  const Image& image = example.image;
  FloatImage floats(image.width, image.height);
  std::ranges::copy(image.pixels, floats.pixels.begin());
  example.floats = std::move(floats);
  example.image = {};
}

void make_bytes(Example& example) {
  if (!example.is_float()) return;
  Image image(example.floats.width, example.floats.height);
  std::ranges::transform(example.floats.pixels, image.pixels.begin(), [](float value) {
    // NumPy's cast wraps around beyond 255, which cubic and Lanczos weights can lead to.
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(value));
  });
  example.image = std::move(image);
  example.floats = {};
}

void resize_part(Example& example, int width, int height, Interpolation interpolation, const Box& box) {
  example.changes.push_back({SizeChange::Kind::kResized, example.width(), example.height()});
  if (Mask* mask = example.mask()) *mask = resize(*mask, width, height, interpolation, box);
  if (!is_of_floats(interpolation)) {
    make_bytes(example);
    example.image = resize(example.image, width, height, interpolation, box);
    return;
  }
  check_resize(example.width(), example.height(), width, height, box);
  const bool stays = width == example.width() && height == example.height();
  if (interpolation == Interpolation::kCvNearest || stays) {
    if (example.is_float())
      example.floats = stays ? cropped(example.floats, box, std::array<float, 3>{})
                             : resize_nearest_opencv(example.floats, width, height, box);
    else
      example.image =
          stays ? crop(example.image, box) : resize_nearest_opencv(example.image, width, height, box);
    return;
  }
  example.floats = example.is_float() ? resize_floats(example.floats, width, height, interpolation, box)
                                      : resize_floats(example.image, width, height, interpolation, box);
  example.image = {};
}

void resize_example(Example& example, int width, int height, Interpolation interpolation) {
  resize_part(example, width, height, interpolation, {0, 0, width, height});
}

void crop_example(Example& example, const Box& box, const std::array<float, 3>& fill, int ignored) {
  const int width = example.width(), height = example.height();
  const bool reaches_over =
      box.left < 0 || box.top < 0 || box.left + box.width > width || box.top + box.height > height;
  const bool is_padding =
      box.left == 0 && box.top == 0 && box.width >= width && box.height >= height && reaches_over;
  if (is_padding) example.changes.push_back({SizeChange::Kind::kPadded, width, height});
  if (reaches_over && !is_whole(fill)) make_floats(example);
  if (example.is_float()) {
    example.floats = cropped(example.floats, box, fill);
  } else {
    std::array<std::uint8_t, 3> bytes{};
    if (reaches_over)
      std::ranges::transform(fill, bytes.begin(), [](float v) { return static_cast<std::uint8_t>(v); });
    example.image = cropped(example.image, box, bytes);
  }
  if (Mask* mask = example.mask())
    *mask = cropped(*mask, box, std::array{static_cast<std::uint8_t>(ignored)});
}

}  // namespace octet
