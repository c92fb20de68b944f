#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/pixel_ops.h"

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

// AutoAugment's policy for ImageNet (https://arxiv.org/abs/1805.09501, appendix A): an operation, how often
// it is done, and its level from 0 to 9.
struct Step {
  PixelOp op;
  double probability;
  int level;
};

constexpr auto kPosterize = PixelOp::kPosterize, kSolarize = PixelOp::kSolarize, kRotate = PixelOp::kRotate,
               kEqualize = PixelOp::kEqualize, kInvert = PixelOp::kInvert, kColor = PixelOp::kColor,
               kContrast = PixelOp::kContrast, kAutoContrast = PixelOp::kAutoContrast,
               kSharpness = PixelOp::kSharpness, kShearX = PixelOp::kShearX;

// clang-format off
constexpr Step kImageNetPolicy[25][2] = {
    {{kPosterize, 0.4, 8}, {kRotate, 0.6, 9}},
    {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6, 0}},
    {{kEqualize, 0.8, 0}, {kEqualize, 0.6, 0}},
    {{kPosterize, 0.6, 7}, {kPosterize, 0.6, 6}},
    {{kEqualize, 0.4, 0}, {kSolarize, 0.2, 4}},
    {{kEqualize, 0.4, 0}, {kRotate, 0.8, 8}},
    {{kSolarize, 0.6, 3}, {kEqualize, 0.6, 0}},
    {{kPosterize, 0.8, 5}, {kEqualize, 1.0, 0}},
    {{kRotate, 0.2, 3}, {kSolarize, 0.6, 8}},
    {{kEqualize, 0.6, 0}, {kPosterize, 0.4, 6}},
    {{kRotate, 0.8, 8}, {kColor, 0.4, 0}},
    {{kRotate, 0.4, 9}, {kEqualize, 0.6, 0}},
    {{kEqualize, 0.0, 0}, {kEqualize, 0.8, 0}},
    {{kInvert, 0.6, 0}, {kEqualize, 1.0, 0}},
    {{kColor, 0.6, 4}, {kContrast, 1.0, 8}},
    {{kRotate, 0.8, 8}, {kColor, 1.0, 2}},
    {{kColor, 0.8, 8}, {kSolarize, 0.8, 7}},
    {{kSharpness, 0.4, 7}, {kInvert, 0.6, 0}},
    {{kShearX, 0.6, 5}, {kEqualize, 1.0, 0}},
    {{kColor, 0.4, 0}, {kEqualize, 0.6, 0}},
    {{kEqualize, 0.4, 0}, {kSolarize, 0.2, 4}},
    {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6, 0}},
    {{kInvert, 0.6, 0}, {kEqualize, 1.0, 0}},
    {{kColor, 0.6, 4}, {kContrast, 1.0, 8}},
    {{kEqualize, 0.8, 0}, {kEqualize, 0.6, 0}},
};
// clang-format on

// What a level means, and whether it goes both ways, as in torchvision.
double amount_of(const Step& step, bool negative) {
  constexpr int kLevels = 10;
  const double part = static_cast<double>(step.level) / (kLevels - 1);
  const double sign = negative ? -1.0 : 1.0;
  switch (step.op) {
    case PixelOp::kShearX:
      return sign * 0.3 * part;
    case PixelOp::kRotate:
      return sign * 30.0 * part;
    case PixelOp::kColor:
    case PixelOp::kContrast:
    case PixelOp::kSharpness:
      return sign * 0.9 * part;
    case PixelOp::kPosterize:
      return 8.0 - std::nearbyint(4.0 * part);
    case PixelOp::kSolarize:
      return 255.0 * (1.0 - part);
    default:
      return 0.0;
  }
}

void auto_augment(Image& image, Random& random) {
  for (const Step& step : kImageNetPolicy[random.below(std::ssize(kImageNetPolicy))]) {
    const bool wanted = random.uniform() < step.probability;
    const bool negative = random.below(2) == 0;
    if (wanted) apply(step.op, amount_of(step, negative), image);
  }
}

// In random order. What is 0 is left out.
void jitter_colors(Image& image, const ColorJitter& jitter, Random& random) {
  std::array<std::pair<PixelOp, double>, 4> steps = {{{PixelOp::kBrightness, jitter.brightness},
                                                      {PixelOp::kContrast, jitter.contrast},
                                                      {PixelOp::kColor, jitter.saturation},
                                                      {PixelOp::kHue, jitter.hue}}};
  for (std::size_t i = steps.size(); i > 1; --i)
    std::swap(steps[i - 1], steps[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  for (const auto& [op, strength] : steps) {
    // A factor is never negative, so a strength above 1 reaches further up than down.
    const double low = op == PixelOp::kHue ? -strength : std::max(-strength, -1.0);
    if (strength > 0) apply(op, random.uniform(low, strength), image);
  }
}

// torchvision's RandomErasing: ten tries for a rectangle that fits.
void erase(std::span<float> planes, int size, Random& random) {
  const double area = static_cast<double>(size) * size;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * random.uniform(0.02, 0.33);
    const double ratio = std::exp(random.uniform(std::log(0.3), std::log(3.3)));
    const auto height = static_cast<int>(std::nearbyint(std::sqrt(part * ratio)));
    const auto width = static_cast<int>(std::nearbyint(std::sqrt(part / ratio)));
    if (height >= size || width >= size) continue;
    const std::int64_t top = random.below(size - height + 1), left = random.below(size - width + 1);
    for (std::int64_t c = 0; c < Image::kChannels; ++c)
      for (std::int64_t y = top; y < top + height; ++y)
        std::fill_n(planes.begin() + (c * size + y) * size + left, width, 0.0f);
    return;
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
  const ColorJitter& jitter = transform.jitter;
  for (double strength : {jitter.brightness, jitter.contrast, jitter.saturation})
    if (!(strength >= 0 && std::isfinite(strength)))
      fail("a colour jitter is {}; it must be 0 or a positive number", strength);
  if (!(jitter.hue >= 0 && jitter.hue <= 0.5))
    fail("the hue's jitter is {}; it must be between 0 and 0.5", jitter.hue);
  if (!(transform.random_erase >= 0 && transform.random_erase <= 1))
    fail("random erasing is {}; it must be a probability, between 0 and 1", transform.random_erase);
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
  if (transform.auto_augment) auto_augment(out, random);
  jitter_colors(out, transform.jitter, random);
  return out;
}

void augment(const Image& image, const TrainTransform& transform, Random& random, std::span<float> planes) {
  const Preprocess colors{.mean = transform.mean, .std = transform.std};
  normalize(augment_pixels(image, transform, random), colors, planes);
  if (transform.random_erase > 0 && random.uniform() < transform.random_erase)
    erase(planes, transform.size, random);
}

}  // namespace octet
