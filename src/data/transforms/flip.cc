#include "data/transforms/flip.h"

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

template <class Picture>
void mirror(Picture& picture) {
  for (int y = 0; y < picture.height; ++y) {
    std::uint8_t* left = picture.row(y);
    std::uint8_t* right = left + picture.stride() - Picture::kChannels;
    for (; left < right; left += Picture::kChannels, right -= Picture::kChannels)
      std::swap_ranges(left, left + Picture::kChannels, right);
  }
}

}  // namespace

const TransformRow RandomHorizontalFlip::kRow = transform_row<RandomHorizontalFlip>(
    "RandomHorizontalFlip", TransformRow::Input::kPixels, /*is_random=*/true);

void RandomHorizontalFlip::settings(Settings& settings) {
  settings.optional("prob", prob);
}

void RandomHorizontalFlip::check() const {
  if (!(prob >= 0 && prob <= 1)) fail("flipping is {}; it must be a probability, between 0 and 1", prob);
}

void RandomHorizontalFlip::apply(Example& example, Random& random) const {
  if (random.uniform() >= prob) return;
  mirror(example.image);
  if (Mask* mask = example.mask()) mirror(*mask);
}

}  // namespace octet
