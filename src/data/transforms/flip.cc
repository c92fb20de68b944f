#include "data/transforms/flip.h"

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

template <class Picture>
void mirror(Picture& picture) {
  for (int y = 0; y < picture.height; ++y) {
    auto* left = picture.row(y);
    auto* right = left + picture.stride() - Picture::kChannels;
    for (; left < right; left += Picture::kChannels, right -= Picture::kChannels)
      std::swap_ranges(left, left + Picture::kChannels, right);
  }
}

template <class Picture>
void turn_over(Picture& picture) {
  for (int top = 0, bottom = picture.height - 1; top < bottom; ++top, --bottom)
    std::swap_ranges(picture.row(top), picture.row(top) + picture.stride(), picture.row(bottom));
}

void check_prob(double prob) {
  if (!(prob >= 0 && prob <= 1)) fail("flipping is {}; it must be a probability, between 0 and 1", prob);
}

}  // namespace

const TransformRow RandomHorizontalFlip::kRow = transform_row<RandomHorizontalFlip>(
    "RandomHorizontalFlip", TransformRow::Input::kEither, /*is_random=*/true);

void RandomHorizontalFlip::settings(Settings& settings) {
  settings.optional("prob", prob);
}

void RandomHorizontalFlip::check() const {
  check_prob(prob);
}

void RandomHorizontalFlip::apply(Example& example, Random& random) const {
  if (random.uniform() >= prob) return;
  mirror(example.image);
  mirror(example.floats);
  if (Mask* mask = example.mask()) mirror(*mask);
}

const TransformRow RandomVerticalFlip::kRow =
    transform_row<RandomVerticalFlip>("RandomVerticalFlip", TransformRow::Input::kEither, /*is_random=*/true);

void RandomVerticalFlip::settings(Settings& settings) {
  settings.optional("prob", prob);
}

void RandomVerticalFlip::check() const {
  check_prob(prob);
}

void RandomVerticalFlip::apply(Example& example, Random& random) const {
  if (random.uniform() >= prob) return;
  turn_over(example.image);
  turn_over(example.floats);
  if (Mask* mask = example.mask()) turn_over(*mask);
}

}  // namespace octet
