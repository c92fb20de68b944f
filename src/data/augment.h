#pragma once
#include <array>
#include <span>

#include "base/random.h"
#include "data/image.h"
#include "data/preprocess.h"
#include "data/resample.h"

namespace octet {

// Factors are drawn from [1 - x, 1 + x], the hue's shift from [-x, x] of the colour circle (at most 0.5).
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;

  bool operator==(const ColorJitter&) const = default;
};

// What happens to a picture on its way into training: a random part of it, perhaps mirrored, in other
// colours, normalised. The steps are those of torchvision and paddle.vision, in this order; the defaults are
// the usual recipe for ImageNet. docs/data.md describes them.
struct TrainTransform {
  int size = 224;  // of the square that comes out

  // A part of random area and shape, scaled to the square. Otherwise the short side becomes `size`, and a
  // square is cut out of that at random, which may reach `pad` black pixels over the edge.
  bool random_resized_crop = true;
  std::array<double, 2> scale = {0.08, 1.0};             // of the picture's area
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};  // width : height
  int pad = 0;
  Interpolation interpolation = Interpolation::kBilinear;

  bool flip = true;           // left and right, every other time
  bool auto_augment = false;  // a random sub-policy of AutoAugment's for ImageNet
  ColorJitter jitter = {};
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};
  double random_erase = 0;  // how often a random rectangle becomes 0, after normalisation

  bool operator==(const TrainTransform&) const = default;
};

// An Error when a field is out of range.
void validate(const TrainTransform& transform);

// How a model that is trained like this sees pictures afterwards: the short side is 8/7 of the square that is
// cut out of the centre (256 for 224), or as long as the square where training doesn't take random parts.
Preprocess evaluation_of(const TrainTransform& transform);

// One random version of the picture: size x size values of red, then of green, then of blue.
void augment(const Image& image, const TrainTransform& transform, Random& random, std::span<float> planes);

// The steps before normalisation: a picture of size x size.
Image augment_pixels(const Image& image, const TrainTransform& transform, Random& random);

}  // namespace octet
