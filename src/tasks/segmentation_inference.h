#pragma once
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "data/example.h"
#include "tensor/tensor.h"

// From a picture that is ready for the network to the class of each pixel of the picture that it came from:
// what training, `octet eval` and `octet predict` do alike, with any kind of model.
namespace octet {

// A model: float32 [1, 3, H, W] to its first output for it, scores [1, C, H, W] or classes [1, H, W].
using SegmentationModel = std::function<Tensor(const Tensor& pixels)>;

// PaddleSeg's test_config.
struct SegmentOptions {
  bool aug_eval = false;  // the sum over several scales and mirror images
  std::vector<double> scales = {1};
  bool flip_horizontal = false, flip_vertical = false;
  bool is_slide = false;                                   // by windows that cover the picture
  std::array<int, 2> crop_size = {0, 0}, stride = {0, 0};  // of the window: width, height

  bool operator==(const SegmentOptions&) const = default;
};

// What is added up with aug_eval: probabilities, or scores, as in PaddleSeg from 2.8 on.
enum class Summands { kProbabilities, kScores };

// An Error when a setting is out of range.
void check_segment_options(const SegmentOptions& options);

// The scores for each pixel of the input, [1, C, H, W]; without options what the model says. PaddleSeg up to
// 2.7 makes each scale from the scale before it, so that the order counts and details are lost; here, as in
// later versions, each is made from the input.
Tensor segment(const SegmentationModel& model, const Tensor& pixels, const SegmentOptions& options,
               Summands summands);

// The class of each pixel, with the changes undone, the last one first, on the scores: bilinearly (half-pixel
// centres), or by cutting off the padding. Of equal scores the lower class counts; where none is a number
// there is no class (Mask::kIgnored). Of a model that gives classes, those of the nearest pixels.
Mask classes_of(const Tensor& output, std::span<const SizeChange> changes);

// [1, C, H, W] to another size, bilinearly, with half-pixel centres.
Tensor resize_planes(const Tensor& x, std::int64_t height, std::int64_t width);

}  // namespace octet
