#include "cli/segment_flags.h"

#include <algorithm>

#include "base/error.h"

namespace octet::cli {

namespace {

// The window's size shares its name with the square that is cut out of pictures for classifiers.
void add_crop_size(Args& args, SegmentFlags* flags) {
  constexpr const char* kHelp = "with --is-slide: width and height of the window";
  const auto is_there = [](const Flag& flag) { return flag.name == "crop-size"; };
  if (std::ranges::none_of(args.flags(), is_there)) {
    args.add("crop-size", &flags->crop_size, kHelp);
    return;
  }
  Flag& flag = args.at("crop-size");
  flag.number_list = true;
  flag.most_numbers = 2;
  flag.help += "; W,H " + std::string(kHelp);
  flag.set = [flags, square = flag.set](const std::string& text) {
    const std::vector<std::string> parts = split(text, ", ");
    if (parts.size() != 2) return square(text);
    std::array<int, 2> size{};
    Args parser("", "");
    parser.add("crop-size", &size, "").set(text);
    flags->crop_size = size;
  };
}

}  // namespace

void add_segment_flags(Args& args, SegmentFlags* flags, const std::string& aug_name) {
  args.group("Segmentation, with --config (default: its test_config)");
  args.add(aug_name, &flags->aug_eval, "the sum of the answers at several scales, and mirrored");
  args.add("scales", &flags->scales, "those scales").default_text = "1";
  args.add("flip-horizontal", &flags->flip_horizontal, "mirrored as well");
  args.add("flip-vertical", &flags->flip_vertical, "and upside down");
  args.add("is-slide", &flags->is_slide, "in windows that cover the picture, for large pictures");
  add_crop_size(args, flags);
  args.add("stride", &flags->stride, "with --is-slide: from one window to the next, to the right and down");
}

SegmentOptions segment_options(const SegmentFlags& flags, SegmentOptions config) {
  if (flags.aug_eval) {
    config.aug_eval = *flags.aug_eval;
    config.flip_horizontal = config.flip_vertical = false;
    config.scales = {1};
  }
  if (flags.flip_horizontal) config.flip_horizontal = *flags.flip_horizontal;
  if (flags.flip_vertical) config.flip_vertical = *flags.flip_vertical;
  if (!flags.scales.empty()) config.scales = flags.scales;
  if (flags.is_slide) config.is_slide = *flags.is_slide;
  if (flags.crop_size[0] > 0) config.crop_size = flags.crop_size;
  if (flags.stride[0] > 0) config.stride = flags.stride;
  if (config.is_slide && config.stride[0] == 0) config.stride = config.crop_size;
  check_segment_options(config);
  return config;
}

}  // namespace octet::cli
