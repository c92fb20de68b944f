#include "data/preprocess.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {

namespace {

struct Size {
  int width;
  int height;
};

// The short side becomes `target`, the long one is rounded down (paddle.vision.transforms.Resize with one
// number).
Size resized(const Image& image, int target) {
  if (target == 0) return {image.width, image.height};
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

// Where a central window of `length` begins: half the rest, halves rounded to even as Python's round() does.
int centered(int size, int length) {
  const int rest = size - length;
  const int half = rest >> 1;
  return rest % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

}  // namespace

Preprocess merge(Preprocess base, const PreprocessOverrides& overrides) {
  base.resize_size = overrides.resize_size.value_or(base.resize_size);
  base.crop_size = overrides.crop_size.value_or(base.crop_size);
  base.interpolation = overrides.interpolation.value_or(base.interpolation);
  base.mean = overrides.mean.value_or(base.mean);
  base.std = overrides.std.value_or(base.std);
  validate(base);
  return base;
}

void validate(const Preprocess& preprocess) {
  const auto check_size = [](const char* name, int size) {
    if (size < 0 || size > kMaxPreprocessSize)
      fail("{} is {}; it must be between 0 (don't) and {}", name, size, kMaxPreprocessSize);
  };
  check_size("the resize size", preprocess.resize_size);
  check_size("the crop size", preprocess.crop_size);
  for (float mean : preprocess.mean)
    if (!std::isfinite(mean)) fail("a mean is {}; it must be a finite number", mean);
  for (float std : preprocess.std)
    if (!std::isfinite(std) || std <= 0) fail("a std is {}; it must be a positive number", std);
}

Image resize_and_crop(const Image& image, const Preprocess& preprocess) {
  const Size size = resized(image, preprocess.resize_size);
  const int crop = preprocess.crop_size;
  if (crop == 0) return resize(image, size.width, size.height, preprocess.interpolation);

  // Only the window is computed. Where it reaches beyond the picture it stays black.
  const int left = centered(size.width, crop);
  const int top = centered(size.height, crop);
  const Box inside{std::max(left, 0), std::max(top, 0), std::min(crop, size.width),
                   std::min(crop, size.height)};
  Image part = resize(image, size.width, size.height, preprocess.interpolation, inside);
  if (part.width == crop && part.height == crop) return part;
  Image out(crop, crop);
  for (int y = 0; y < part.height; ++y)
    std::copy_n(part.row(y), part.stride(),
                out.row(inside.top - top + y) + std::ptrdiff_t{inside.left - left} * Image::kChannels);
  return out;
}

void normalize(const Image& image, const Preprocess& preprocess, std::span<float> planes) {
  check(planes.size() == image.pixels.size(), "a picture's planes hold as many values as the picture");
  const std::size_t plane = planes.size() / Image::kChannels;
  for (std::size_t c = 0; c < Image::kChannels; ++c) {
    // A pixel has 256 values: do the two divisions for each of those, not for each pixel.
    std::array<float, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (static_cast<float>(i) / 255.0f - preprocess.mean[c]) / preprocess.std[c];
    const std::uint8_t* from = image.pixels.data() + c;
    for (float& to : planes.subspan(c * plane, plane)) {
      to = values[*from];
      from += Image::kChannels;
    }
  }
}

Tensor preprocess_images(const std::vector<Image>& images, const Preprocess& preprocess) {
  check(!images.empty(), "a batch has at least one picture");
  Tensor batch;
  Size size{};
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Image image = resize_and_crop(images[i], preprocess);
    if (i == 0) {
      size = {image.width, image.height};
      batch = Tensor(DType::kFloat32,
                     {static_cast<std::int64_t>(images.size()), Image::kChannels, image.height, image.width});
    }
    if (image.width != size.width || image.height != size.height)
      fail("pictures of {}x{} and {}x{} do not fit in one batch; set a crop size, or use batches of 1",
           size.width, size.height, image.width, image.height);
    normalize(image, preprocess,
              batch.mutable_data<float>().subspan(i * image.pixels.size(), image.pixels.size()));
  }
  return batch;
}

}  // namespace octet
