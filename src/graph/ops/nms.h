#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace octet::ops {

// The boxes that non_max_suppression keeps; how many there are is the shape of its result.
struct NmsOptions {
  std::int64_t max_boxes = 0;  // of each class
  float iou_threshold = 0;
  float score_threshold = 0;
  bool has_score_threshold = false;
  bool centered = false;  // boxes are x, y, width, height rather than two corners y, x
};
struct NmsBox {
  std::int64_t image, category, box;
};
// boxes: images x boxes x 4; scores: images x classes x boxes. Class by class, best score first, of equal
// ones the first; a box is left out when it overlaps one that is kept by more than the threshold.
std::vector<NmsBox> select_boxes(const Tensor& boxes, const Tensor& scores, const NmsOptions& options);

}  // namespace octet::ops
