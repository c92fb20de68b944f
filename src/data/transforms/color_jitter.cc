#include "data/transforms/color_jitter.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/pixel_ops.h"

namespace octet {

const TransformRow ColorJitter::kRow =
    transform_row<ColorJitter>("ColorJitter", TransformRow::Input::kPixels, /*is_random=*/true);

void ColorJitter::settings(Settings& settings) {
  settings.optional("brightness", brightness);
  settings.optional("contrast", contrast);
  settings.optional("saturation", saturation);
  settings.optional("hue", hue);
}

void ColorJitter::check() const {
  for (double strength : {brightness, contrast, saturation})
    if (!(strength >= 0 && std::isfinite(strength)))
      fail("a colour jitter is {}; it must be 0 or a positive number", strength);
  if (!(hue >= 0 && hue <= 0.5)) fail("the hue's jitter is {}; it must be between 0 and 0.5", hue);
}

void ColorJitter::apply(Example& example, Random& random) const {
  std::array<std::pair<PixelOp, double>, 4> steps = {{{PixelOp::kBrightness, brightness},
                                                      {PixelOp::kContrast, contrast},
                                                      {PixelOp::kColor, saturation},
                                                      {PixelOp::kHue, hue}}};
  for (std::size_t i = steps.size(); i > 1; --i)
    std::swap(steps[i - 1], steps[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  for (const auto& [op, strength] : steps) {
    // A factor is never negative, so a strength above 1 reaches further up than down.
    const double low = op == PixelOp::kHue ? -strength : std::max(-strength, -1.0);
    if (strength > 0) octet::apply(op, random.uniform(low, strength), example.image);
  }
}

}  // namespace octet
