#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "data/image.h"
#include "data/resample.h"
#include "tensor/tensor.h"

namespace octet {

// What happens to a picture before a classifier sees it: resize the short side, crop the centre, scale to [0,
// 1], normalise. The defaults are ImageNet's; the results are those of paddle.vision.transforms with the
// Pillow backend, to the bit.
//
//   Preprocess preprocess = load_deploy_yaml(model_dir).value_or(Preprocess());  // data/deploy_yaml.h
//   Tensor batch = preprocess_images({load_image("cat.jpg"), load_image("dog.jpg")}, preprocess);  //
//   2x3x224x224
struct Preprocess {
  int resize_size = 256;  // length of the short side; 0: don't resize
  int crop_size = 224;    // side of the central square; 0: don't crop. A smaller picture gets a black border.
  Interpolation interpolation = Interpolation::kBilinear;
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};  // of pixels in [0, 1], in the order R, G, B
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};

  bool operator==(const Preprocess&) const = default;
};

// The largest resize_size and crop_size.
constexpr int kMaxPreprocessSize = 16384;

// What flags say: a field that is set takes the place of the file's.
struct PreprocessOverrides {
  std::optional<int> resize_size = {};
  std::optional<int> crop_size = {};
  std::optional<Interpolation> interpolation = {};
  std::optional<std::array<float, 3>> mean = {};
  std::optional<std::array<float, 3>> std = {};
};

// `base` with the overrides, validated.
Preprocess merge(Preprocess base, const PreprocessOverrides& overrides);

// An Error when a size is out of range, a mean or std is not finite, or a std is not positive.
void validate(const Preprocess& preprocess);

// Resized and cropped, still 8-bit.
Image resize_and_crop(const Image& image, const Preprocess& preprocess);

// (pixel / 255 - mean) / std of a picture that has its final size, into `planes`: height x width values of
// red, then of green, then of blue.
void normalize(const Image& image, const Preprocess& preprocess, std::span<float> planes);

// Both steps for a batch: a float32 tensor [N, 3, height, width]. An Error when the pictures come out at
// different sizes, which only happens without a crop.
Tensor preprocess_images(const std::vector<Image>& images, const Preprocess& preprocess);

}  // namespace octet
