#include "data/transforms/auto_augment.h"

#include <cmath>

#include "data/pixel_ops.h"

namespace octet {

namespace {

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

}  // namespace

const TransformRow AutoAugment::kRow =
    transform_row<AutoAugment>("AutoAugment", TransformRow::Input::kPixels, /*is_random=*/true);

void AutoAugment::apply(Example& example, Random& random) const {
  for (const Step& step : kImageNetPolicy[random.below(std::ssize(kImageNetPolicy))]) {
    const bool wanted = random.uniform() < step.probability;
    const bool negative = random.below(2) == 0;
    if (!wanted) continue;
    octet::apply(step.op, amount_of(step, negative), example.image);
    if (Mask* mask = example.mask()) octet::apply(step.op, amount_of(step, negative), *mask);
  }
}

}  // namespace octet
