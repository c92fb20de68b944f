#pragma once
#include <string_view>

#include "data/example.h"

namespace octet {

enum class Interpolation {
  kNearest,   // Pillow's NEAREST
  kBilinear,  // Pillow's BILINEAR: a triangle as wide as the ratio, so that shrinking averages
  kBicubic,   // Pillow's BICUBIC, likewise (a = -0.5)
  kOpenCV,    // OpenCV's INTER_LINEAR: the two nearest pixels in each direction, whatever the ratio
  // OpenCV's in floats, as PaddleSeg resizes (data/opencv_resize.h), under its names.
  kCvNearest,
  kCvLinear,
  kCvCubic,
  kCvArea,
  kCvLanczos4,
  kCvRandom,  // one of these, drawn for each picture
};

std::string_view name_of(
    Interpolation interpolation);  // "nearest", "bilinear", "bicubic", "opencv", "NEAREST", ...
// An Error that lists the names: the first four, or those in floats.
Interpolation parse_interpolation(std::string_view name, bool in_floats = false);
constexpr bool is_of_floats(Interpolation interpolation) {
  return interpolation >= Interpolation::kCvNearest;
}

// The part of a picture that is in `box`.
Image crop(const Image& image, const Box& box);
Mask crop(const Mask& mask, const Box& box);
// The same for a box that may reach beyond the picture: there it is black, and a mask is ignored.
Image crop_with_border(Image image, const Box& box);
Mask crop_with_border(Mask mask, const Box& box);

// `image` scaled to width x height, to the same pixels as Image.resize of Pillow or cv2.resize give.
Image resize(const Image& image, int width, int height, Interpolation interpolation);
// The part of that which is in `box`, without computing the rest.
Image resize(const Image& image, int width, int height, Interpolation interpolation, const Box& box);
// What that reads of `image`, whose size this is, and perhaps a few pixels more.
Box read_by_resize(int from_width, int from_height, int width, int height, const Box& box);
// A mask, to the class of the nearest pixel: Pillow's nearest, or OpenCV's where the picture is scaled by it.
Mask resize(const Mask& mask, int width, int height, Interpolation interpolation);
Mask resize(const Mask& mask, int width, int height, Interpolation interpolation, const Box& box);

// OpenCV's INTER_NEAREST.
Image resize_nearest_opencv(const Image& image, int width, int height, const Box& box);
FloatImage resize_nearest_opencv(const FloatImage& image, int width, int height, const Box& box);

// An Error when a picture of this size can't be resized so: the result would be too large.
void check_resize(int from_width, int from_height, int width, int height, const Box& box);

}  // namespace octet
