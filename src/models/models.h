#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// The zoo: networks as graphs, with fresh weights.
//
//   Graph graph = models::build_model("mobilenet_v3_small", {.num_classes = 10, .img_size = 64});
//
// The input is "x". A classifier's is ?x3xHxW, and its output is one score (logit) a class, without softmax.
// A segmentation network takes pictures of any size, ?x3x?x?, and gives the scores of each pixel, ?xCx?x?;
// its further outputs are those of its auxiliary heads, which training looks at (inference.h drops them). The
// graph has what training needs: batch_norm nodes with epsilon and Paddle's momentum (what the running
// statistics keep of themselves in a step), and dropout nodes. A constant is named as the parameter is in a
// checkpoint, "features.0.0.weight"; names.h reads and writes those. A linear layer is matmul and add, its
// weight is [in, out].

namespace octet::models {

enum class Task : std::uint8_t { kClassification, kSegmentation };

// What segmentation networks can be told, in PaddleSeg's words and with its defaults. A network reads what
// concerns it.
struct SegmentationOptions {
  using Ints = std::vector<int>;

  int in_channels = 3;
  bool align_corners = false;         // of every upsampling
  Ints backbone_indices = {};         // which stages are read; none: those that the network's authors chose
  Ints multi_grid = {1, 1, 1};        // ResNet: multiplies the dilations of the last stage
  bool enable_auxiliary_loss = true;  // GCNet, PSPNet: whether there is an auxiliary head

  double lambd = 0.25;                // BiSeNetV2: how wide the semantic branch is
  Ints aspp_ratios = {1, 6, 12, 18};  // DeepLab
  int aspp_out_channels = 256;
  int gc_channels = 512;       // GCNet
  double ratio = 0.25;         // GCNet: of gc_channels, how many the bottleneck of the context has
  int pp_out_channels = 1024;  // PSPNet
  Ints bin_sizes = {1, 2, 3, 6};
  bool use_deconv = false;        // UNet: upsamples by transposed convolutions
  Ints cm_bin_sizes = {1, 2, 4};  // PP-LiteSeg
  int cm_out_ch = 128;
  Ints arm_out_chs = {64, 96, 128};
  Ints seg_head_inter_chs = {64, 64, 64};

  bool operator==(const SegmentationOptions&) const = default;
};

struct ModelOptions {
  std::int64_t num_classes = 1000;
  std::int64_t img_size = 224;  // height and width, of classifiers
  double width = 1.0;           // multiplies the channels of every layer
  std::uint64_t seed = 0;       // the same seed: the same weights
  bool fresh_weights = true;    // false: they may be zeros, for who reads a checkpoint
  SegmentationOptions segmentation = {};
};

const std::vector<std::string>& model_names();
Task task_of(std::string_view name);

// Fails with the names that exist when there is no such network, or when an option is out of bounds.
void check_model_name(std::string_view name);
Graph build_model(std::string_view name, const ModelOptions& options = {});

}  // namespace octet::models
