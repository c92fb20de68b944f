#include "data/transforms/random_crop.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {

namespace {

// torchvision's RandomResizedCrop.get_params: ten tries for a part that fits, then the centre.
Box random_part(const Image& image, const RandomResizedCrop& crop, Random& random) {
  const double width = image.width, height = image.height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = width * height * random.uniform(crop.scale[0], crop.scale[1]);
    const double ratio = std::exp(random.uniform(std::log(crop.ratio[0]), std::log(crop.ratio[1])));
    const double w = std::nearbyint(std::sqrt(area * ratio)), h = std::nearbyint(std::sqrt(area / ratio));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    Box box{0, 0, static_cast<int>(w), static_cast<int>(h)};
    box.top = static_cast<int>(random.below(image.height - box.height + 1));
    box.left = static_cast<int>(random.below(image.width - box.width + 1));
    return box;
  }
  Box box{0, 0, image.width, image.height};
  if (width / height < crop.ratio[0])
    box.height = std::clamp(static_cast<int>(std::nearbyint(width / crop.ratio[0])), 1, image.height);
  else if (width / height > crop.ratio[1])
    box.width = std::clamp(static_cast<int>(std::nearbyint(height * crop.ratio[1])), 1, image.width);
  box.left = (image.width - box.width) / 2;
  box.top = (image.height - box.height) / 2;
  return box;
}

void check_size(int size) {
  if (size < 1 || size > kMaxPictureSide)
    fail("the size of training pictures is {}; it must be between 1 and {}", size, kMaxPictureSide);
}

}  // namespace

const TransformRow RandomResizedCrop::kRow = transform_row<RandomResizedCrop>(
    "RandomResizedCrop", TransformRow::Input::kPixels, /*is_random=*/true, /*gives_one_size=*/true);

void RandomResizedCrop::settings(Settings& settings) {
  settings.required("size", size);
  settings.optional("scale", scale);
  settings.optional("ratio", ratio);
  settings.optional("interpolation", interpolation);
}

void RandomResizedCrop::check() const {
  check_size(size);
  if (!(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1))
    fail("the crop's scale is {} to {}; it must be between 0 and 1, the smaller one first", scale[0],
         scale[1]);
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1] && std::isfinite(ratio[1])))
    fail("the crop's ratio is {} to {}; both must be positive, the smaller one first", ratio[0], ratio[1]);
}

void RandomResizedCrop::apply(Example& example, Random& random) const {
  const Box part = random_part(example.image, *this, random);
  example.image = resize(crop(example.image, part), size, size, interpolation);
  if (Mask* mask = example.mask()) *mask = resize(crop(*mask, part), size, size, interpolation);
}

const TransformRow RandomCrop::kRow = transform_row<RandomCrop>("RandomCrop", TransformRow::Input::kPixels,
                                                                /*is_random=*/true, /*gives_one_size=*/true);

void RandomCrop::settings(Settings& settings) {
  settings.required("size", size);
  settings.optional("padding", padding);
}

void RandomCrop::check() const {
  check_size(size);
  if (padding < 0 || padding > size)
    fail("the padding is {}; it must be between 0 and the size, {}", padding, size);
}

void RandomCrop::apply(Example& example, Random& random) const {
  const int right = example.image.width + 2 * padding - size,
            bottom = example.image.height + 2 * padding - size;
  if (right < 0 || bottom < 0)
    fail("a picture of {}x{} is too small to cut a square of {} out of it; resize it first",
         example.image.width, example.image.height, size);
  Box box{0, 0, size, size};
  box.left = static_cast<int>(random.below(right + 1)) - padding;
  box.top = static_cast<int>(random.below(bottom + 1)) - padding;
  example.image = crop_with_border(example.image, box);
  if (Mask* mask = example.mask()) *mask = crop_with_border(*mask, box);
}

}  // namespace octet
