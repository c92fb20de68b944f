#pragma once
#include "data/example.h"
#include "data/resample.h"

namespace octet {

// What cv2.resize makes of a picture in 32-bit floats, up to the order of sums: the part in `box` of the
// picture scaled to width x height. `interpolation` is one of those that are OpenCV's on floats, but for
// kCvNearest, which makes no new values.
FloatImage resize_floats(const Image& image, int width, int height, Interpolation interpolation,
                         const Box& box);
FloatImage resize_floats(const FloatImage& image, int width, int height, Interpolation interpolation,
                         const Box& box);

}  // namespace octet
