#pragma once
#include <array>
#include <optional>
#include <vector>

#include "cli/args.h"
#include "tasks/segmentation_inference.h"

namespace octet::cli {

// `--aug-eval` (or `--aug-pred`), `--scales`, `--flip-horizontal`, `--flip-vertical`, `--is-slide`,
// `--crop-size` and `--stride`, in place of the config's test_config.
struct SegmentFlags {
  std::optional<bool> aug_eval, flip_horizontal, flip_vertical, is_slide;
  std::vector<double> scales;
  std::array<int, 2> crop_size = {0, 0}, stride = {0, 0};
};

// A `--crop-size` of one number that the command has already goes on to mean what it did.
void add_segment_flags(Args& args, SegmentFlags* flags, const std::string& aug_name);

// What the config has, with what the flags change. With `--aug-eval` the mirror images are those that flags
// ask for, as in PaddleSeg. An Error when that makes no sense.
SegmentOptions segment_options(const SegmentFlags& flags, SegmentOptions config);

}  // namespace octet::cli
