#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {

namespace {

// torchvision's RandomResizedCrop.get_params: ten tries for a part that fits, then the centre.
Box random_part(const Image& image, const TrainTransform& transform, Random& random) {
  const double width = image.width, height = image.height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = width * height * random.uniform(transform.scale[0], transform.scale[1]);
    const double ratio = std::exp(random.uniform(std::log(transform.ratio[0]), std::log(transform.ratio[1])));
    const double w = std::nearbyint(std::sqrt(area * ratio)), h = std::nearbyint(std::sqrt(area / ratio));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    Box box{0, 0, static_cast<int>(w), static_cast<int>(h)};
    box.top = static_cast<int>(random.below(image.height - box.height + 1));
    box.left = static_cast<int>(random.below(image.width - box.width + 1));
    return box;
  }
  Box box{0, 0, image.width, image.height};
  if (width / height < transform.ratio[0])
    box.height = std::clamp(static_cast<int>(std::nearbyint(width / transform.ratio[0])), 1, image.height);
  else if (width / height > transform.ratio[1])
    box.width = std::clamp(static_cast<int>(std::nearbyint(height * transform.ratio[1])), 1, image.width);
  box.left = (image.width - box.width) / 2;
  box.top = (image.height - box.height) / 2;
  return box;
}

// The square of `size` at a random place of a picture that has a black border of `pad` pixels.
Image random_square(const Image& image, int size, int pad, Random& random) {
  const int left = static_cast<int>(random.below(image.width + 2 * pad - size + 1)) - pad;
  const int top = static_cast<int>(random.below(image.height + 2 * pad - size + 1)) - pad;
  const int first = std::max(left, 0), end = std::min(left + size, image.width);
  Image out(size, size);
  for (int y = std::max(top, 0); y < std::min(top + size, image.height) && first < end; ++y)
    std::copy(image.row(y) + first * Image::kChannels, image.row(y) + end * Image::kChannels,
              out.row(y - top) + (first - left) * Image::kChannels);
  return out;
}

void mirror(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* left = image.row(y);
    std::uint8_t* right = left + image.stride() - Image::kChannels;
    for (; left < right; left += Image::kChannels, right -= Image::kChannels)
      std::swap_ranges(left, left + Image::kChannels, right);
  }
}

}  // namespace

void validate(const TrainTransform& transform) {
  if (transform.size < 1 || transform.size > kMaxPreprocessSize)
    fail("the size of training pictures is {}; it must be between 1 and {}", transform.size,
         kMaxPreprocessSize);
  if (transform.pad < 0 || transform.pad > transform.size)
    fail("the padding is {}; it must be between 0 and the size, {}", transform.pad, transform.size);
  if (!(transform.scale[0] > 0 && transform.scale[0] <= transform.scale[1] && transform.scale[1] <= 1))
    fail("the crop's scale is {} to {}; it must be between 0 and 1, the smaller one first",
         transform.scale[0], transform.scale[1]);
  if (!(transform.ratio[0] > 0 && transform.ratio[0] <= transform.ratio[1] &&
        std::isfinite(transform.ratio[1])))
    fail("the crop's ratio is {} to {}; both must be positive, the smaller one first", transform.ratio[0],
         transform.ratio[1]);
  validate(evaluation_of(transform));
}

Preprocess evaluation_of(const TrainTransform& transform) {
  const int longer = std::min(transform.size * 8 / 7, kMaxPreprocessSize);
  return {.resize_size = transform.random_resized_crop ? longer : transform.size,
          .crop_size = transform.size,
          .interpolation = transform.interpolation,
          .mean = transform.mean,
          .std = transform.std};
}

Image augment_pixels(const Image& image, const TrainTransform& transform, Random& random) {
  const int size = transform.size;
  Image out;
  if (transform.random_resized_crop) {
    out = resize(crop(image, random_part(image, transform, random)), size, size, transform.interpolation);
  } else {
    const Preprocess short_side{
        .resize_size = size, .crop_size = 0, .interpolation = transform.interpolation};
    out = random_square(resize_and_crop(image, short_side), size, transform.pad, random);
  }
  if (transform.flip && random.uniform() < 0.5) mirror(out);
  return out;
}

void augment(const Image& image, const TrainTransform& transform, Random& random, std::span<float> planes) {
  const Preprocess colors{.mean = transform.mean, .std = transform.std};
  normalize(augment_pixels(image, transform, random), colors, planes);
}

}  // namespace octet
