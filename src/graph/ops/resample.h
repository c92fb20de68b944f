#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// One axis of a resample node: how large it becomes, and the factor and exact width that its coordinates are
// computed with. kUnknown where only a run decides.
struct ResampleAxis {
  std::size_t axis;
  std::int64_t in, out;
  double scale, width;
  double crop_begin = 0, crop_end = 1;  // parts of the input, for "crop"
};
std::vector<ResampleAxis> resample_axes(const Node& node, Inputs inputs);

}  // namespace octet::ops
