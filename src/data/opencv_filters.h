#pragma once
#include <array>

#include "data/example.h"

// Filters of OpenCV's, on 8-bit pictures to the pixel.
namespace octet {

// `size` is 3, 5, 7 or 9.
Image gaussian_blur(const Image& image, int size);  // cv2.GaussianBlur(image, (size, size), 0)
Image median_blur(const Image& image, int size);    // cv2.medianBlur
Image box_blur(const Image& image, int size);       // cv2.blur(image, (size, size))

// cv2.warpAffine: pixel (x, y) becomes the one at (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), which is
// between four pixels; what comes in from beyond the edge is `fill`. Of a mask it is the nearest pixel.
FloatImage warp_affine(const FloatImage& image, const std::array<double, 6>& m, int width, int height,
                       const std::array<float, 3>& fill);
Mask warp_affine(const Mask& mask, const std::array<double, 6>& m, int width, int height, std::uint8_t fill);

}  // namespace octet
