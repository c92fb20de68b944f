#include "data/transforms/random_blur.h"

#include <algorithm>

#include "base/error.h"
#include "data/opencv_filters.h"

namespace octet {

const TransformRow RandomBlur::kRow =
    transform_row<RandomBlur>("RandomBlur", TransformRow::Input::kPixels, /*is_random=*/true);

void RandomBlur::settings(Settings& settings) {
  settings.optional("prob", prob);
  settings.optional("blur_type", blur_type);
}

void RandomBlur::check() const {
  if (!(prob >= 0 && prob <= 1)) fail("blurring is {}; it must be a probability, between 0 and 1", prob);
  constexpr std::string_view kTypes[] = {"gaussian", "median", "blur", "random"};
  if (std::ranges::find(kTypes, blur_type) == std::end(kTypes))
    fail("blur_type is '{}'; there are gaussian, median, blur and random", blur_type);
}

void RandomBlur::apply(Example& example, Random& random) const {
  constexpr double kRarest = 1e-9;  // below it never
  if (prob < kRarest || random.below(static_cast<std::int64_t>(1.0 / prob)) != 0) return;
  const int drawn = 3 + static_cast<int>(random.below(7)), size = std::min(drawn | 1, 9);
  std::string type = blur_type;
  if (type == "random") {
    const double which = random.uniform();
    type = which < 0.3 ? "gaussian" : which < 0.6 ? "median" : "blur";
  }
  example.image = type == "gaussian" ? gaussian_blur(example.image, size)
                  : type == "median" ? median_blur(example.image, size)
                                     : box_blur(example.image, size);
}

}  // namespace octet
