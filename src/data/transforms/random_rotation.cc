#include "data/transforms/random_rotation.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "data/example_ops.h"
#include "data/opencv_filters.h"

namespace octet {

const TransformRow RandomRotation::kRow =
    transform_row<RandomRotation>("RandomRotation", TransformRow::Input::kEither, /*is_random=*/true);

void RandomRotation::settings(Settings& settings) {
  settings.optional("max_rotation", max_rotation);
  border.settings(settings);
}

void RandomRotation::check() const {
  if (!(max_rotation >= 0 && max_rotation <= 180))
    fail("max_rotation is {}; it must be between 0 and 180 degrees", max_rotation);
  border.check();
}

void RandomRotation::apply(Example& example, Random& random) const {
  if (max_rotation == 0) return;
  rotate_example(example, random.uniform(-max_rotation, max_rotation), border);
}

void rotate_example(Example& example, double degrees, const Border& border) {
  const int width = example.width(), height = example.height(), cx = width / 2, cy = height / 2;
  const double angle = degrees * (std::numbers::pi / 180), a = std::cos(angle), b = std::sin(angle);
  const double cosine = std::fabs(a), sine = std::fabs(b);
  const int new_width = static_cast<int>(height * sine + width * cosine);
  const int new_height = static_cast<int>(height * cosine + width * sine);
  if (new_width < 1 || new_height < 1 || new_width > kMaxPictureSide || new_height > kMaxPictureSide)
    fail("a picture of {}x{} would be {}x{} when rotated, which octet does not make", width, height,
         new_width, new_height);
  // cv2.getRotationMatrix2D about the centre, which then moves to that of the larger picture.
  const double to_x = (1 - a) * cx - b * cy + new_width / 2.0 - cx,
               to_y = b * cx + (1 - a) * cy + new_height / 2.0 - cy;
  // cv2.invertAffineTransform of [[a, b, to_x], [-b, a, to_y]], step by step.
  const double inverse_determinant = 1 / (a * a + b * b);
  const double m0 = a * inverse_determinant, m1 = -b * inverse_determinant, m3 = b * inverse_determinant,
               m4 = m0;
  const std::array<double, 6> m = {m0, m1, -m0 * to_x - m1 * to_y, m3, m4, -m3 * to_x - m4 * to_y};
  make_floats(example);
  example.floats = warp_affine(example.floats, m, new_width, new_height, border.im_padding_value);
  if (Mask* mask = example.mask())
    *mask =
        warp_affine(*mask, m, new_width, new_height, static_cast<std::uint8_t>(border.label_padding_value));
}

}  // namespace octet
