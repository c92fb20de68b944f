#pragma once
#include <span>

#include "data/resample.h"
#include "data/resample_loops.h"

namespace octet {

// The convolutions behind `resize`: Pillow's, with a filter that is stretched by the ratio when shrinking.
struct PillowFilter {
  double support;
  double (*weight)(double x);
};
extern const PillowFilter kPillowBilinear, kPillowBicubic;

// All loops give the same pixels; a test asks for certain ones.
Image resize_pillow(const Image& image, int width, int height, const PillowFilter& filter, const Box& box,
                    std::span<const ResampleLoops* const> loops = resample_loops());

}  // namespace octet
