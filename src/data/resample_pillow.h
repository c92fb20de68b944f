#pragma once
#include "data/resample.h"

namespace octet {

// The convolutions behind `resize`: Pillow's, with a filter that is stretched by the ratio when shrinking.
struct PillowFilter {
  double support;
  double (*weight)(double x);
};
extern const PillowFilter kPillowBilinear, kPillowBicubic;

// Vector instructions are used where the CPU has them, and give the same pixels; a test asks for neither.
Image resize_pillow(const Image& image, int width, int height, const PillowFilter& filter, const Box& box,
                    bool may_use_vectors = true);

}  // namespace octet
