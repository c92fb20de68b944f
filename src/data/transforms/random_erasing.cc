#include "data/transforms/random_erasing.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {

const TransformRow RandomErasing::kRow =
    transform_row<RandomErasing>("RandomErasing", TransformRow::Input::kPlanes, /*is_random=*/true);

void RandomErasing::settings(Settings& settings) {
  settings.optional("prob", prob);
}

void RandomErasing::check() const {
  if (!(prob >= 0 && prob <= 1))
    fail("random erasing is {}; it must be a probability, between 0 and 1", prob);
}

// torchvision's RandomErasing: ten tries for a rectangle that fits.
void RandomErasing::apply(Example& example, Random& random) const {
  if (random.uniform() >= prob) return;
  const int columns = example.image.width, rows = example.image.height;
  const double area = static_cast<double>(columns) * rows;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * random.uniform(0.02, 0.33);
    const double ratio = std::exp(random.uniform(std::log(0.3), std::log(3.3)));
    const auto height = static_cast<int>(std::nearbyint(std::sqrt(part * ratio)));
    const auto width = static_cast<int>(std::nearbyint(std::sqrt(part / ratio)));
    if (height >= rows || width >= columns) continue;
    const std::int64_t top = random.below(rows - height + 1), left = random.below(columns - width + 1);
    const std::int64_t channels = std::ssize(example.planes) / (std::int64_t{columns} * rows);
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t y = top; y < top + height; ++y)
        std::fill_n(example.planes.begin() + (c * rows + y) * columns + left, width, 0.0f);
    return;
  }
}

}  // namespace octet
