#include "data/transforms/random_distort.h"

#include <utility>

#include "base/error.h"
#include "data/pixel_ops.h"

namespace octet {

const TransformRow RandomDistort::kRow =
    transform_row<RandomDistort>("RandomDistort", TransformRow::Input::kPixels, /*is_random=*/true);

void RandomDistort::settings(Settings& settings) {
  settings.optional("brightness_range", brightness_range);
  settings.optional("brightness_prob", brightness_prob);
  settings.optional("contrast_range", contrast_range);
  settings.optional("contrast_prob", contrast_prob);
  settings.optional("saturation_range", saturation_range);
  settings.optional("saturation_prob", saturation_prob);
  settings.optional("hue_range", hue_range);
  settings.optional("hue_prob", hue_prob);
  settings.optional("sharpness_range", sharpness_range);
  settings.optional("sharpness_prob", sharpness_prob);
}

void RandomDistort::check() const {
  for (double range : {brightness_range, contrast_range, saturation_range, sharpness_range})
    if (!(range >= 0 && range <= 1)) fail("a range of distortion is {}; it must be between 0 and 1", range);
  if (!(hue_range >= 0 && hue_range <= 255)) fail("hue_range is {}; it must be between 0 and 255", hue_range);
  for (double prob : {brightness_prob, contrast_prob, saturation_prob, hue_prob, sharpness_prob})
    if (!(prob >= 0 && prob <= 1))
      fail("a distortion is {}; it must be a probability, between 0 and 1", prob);
}

void RandomDistort::apply(Example& example, Random& random) const {
  struct Step {
    PixelOp op;
    double range, prob;
  };
  std::array<Step, 5> steps = {{{PixelOp::kBrightness, brightness_range, brightness_prob},
                                {PixelOp::kContrast, contrast_range, contrast_prob},
                                {PixelOp::kColor, saturation_range, saturation_prob},
                                {PixelOp::kHue, hue_range, hue_prob},
                                {PixelOp::kSharpness, sharpness_range, sharpness_prob}}};
  for (std::size_t i = steps.size(); i > 1; --i)
    std::swap(steps[i - 1], steps[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  for (const Step& step : steps) {
    if (random.uniform() >= step.prob) continue;
    const double amount = random.uniform(-step.range, step.range);
    if (step.op == PixelOp::kHue)
      add_to_hue(example.image, amount);
    else
      octet::apply(step.op, amount, example.image);
  }
}

}  // namespace octet
