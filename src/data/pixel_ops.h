#pragma once
#include <array>
#include <string_view>

#include "data/example.h"

namespace octet {

// What augmentation does to the pixels of a picture, which keeps its size. The results are Pillow's, to the
// bit, as torchvision calls it; what comes in from beyond the edge is black.
enum class PixelOp {
  kShearX,        // `amount` pixels to the side for each one down
  kShearY,        // likewise, down
  kTranslateX,    // by `amount` pixels, rounded towards 0, to the right
  kTranslateY,    // and down
  kRotate,        // by `amount` degrees, against the clock
  kBrightness,    // of these four, 0 leaves the picture as it is, -1 takes the quality away, 1 doubles it
  kColor,         //
  kContrast,      //
  kSharpness,     //
  kHue,           // by this part of the colour circle
  kPosterize,     // to `amount` bits
  kSolarize,      // what is not below `amount` is inverted
  kAutoContrast,  // each channel is stretched to 0 ... 255
  kEqualize,      // each channel's histogram becomes flat
  kInvert,
};

// As in the paper on AutoAugment: "ShearX", ...
constexpr std::array<std::string_view, 15> kPixelOpNames = {
    "ShearX",    "ShearY", "TranslateX", "TranslateY", "Rotate",       "Brightness", "Color", "Contrast",
    "Sharpness", "Hue",    "Posterize",  "Solarize",   "AutoContrast", "Equalize",   "Invert"};

// The last three take no amount.
void apply(PixelOp op, double amount, Image& image);
// The first five move the pixels of a mask as well, and ignore what comes in from beyond the edge; the others
// leave it alone.
void apply(PixelOp op, double amount, Mask& mask);

// Adds to Pillow's hue, of 256 steps: what is behind the point is cut off, and it goes round.
void add_to_hue(Image& image, double steps);

}  // namespace octet
