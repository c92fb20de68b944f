#include "train/network_options.h"

namespace octet::train {

models::SegmentationOptions segmentation_options(const NetworkOptions& options) {
  models::SegmentationOptions result;
  const auto set = [](auto& target, const auto& given) {
    using Given = std::decay_t<decltype(given)>;
    if (given != Given{}) target = {given.begin(), given.end()};
  };
  const auto set_number = [](auto& target, auto given) {
    if (given != 0) target = given;
  };
  result.align_corners = options.align_corners;
  result.use_deconv = options.use_deconv;
  result.enable_auxiliary_loss = options.enable_auxiliary_loss.value_or(result.enable_auxiliary_loss);
  set(result.multi_grid, options.multi_grid);
  set(result.backbone_indices, options.backbone_indices);
  set(result.aspp_ratios, options.aspp_ratios);
  set(result.bin_sizes, options.bin_sizes);
  set(result.arm_out_chs, options.arm_out_chs);
  set(result.seg_head_inter_chs, options.seg_head_inter_chs);
  set(result.cm_bin_sizes, options.cm_bin_sizes);
  set_number(result.aspp_out_channels, options.aspp_out_channels);
  set_number(result.gc_channels, options.gc_channels);
  set_number(result.ratio, options.ratio);
  set_number(result.pp_out_channels, options.pp_out_channels);
  set_number(result.lambd, options.lambd);
  set_number(result.cm_out_ch, options.cm_out_ch);
  return result;
}

}  // namespace octet::train
