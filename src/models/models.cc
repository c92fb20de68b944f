#include "models/models.h"

#include "base/error.h"
#include "base/nearest.h"

namespace octet::models {

// The zoo. Each has a function of its name in a file of this folder; docs/add-a-network.md says how to add
// one.
#define OCTET_NETWORKS(NETWORK)                    \
  NETWORK(mobilenet_v3_small, kClassification)     \
  NETWORK(mobilenet_v3_large, kClassification)     \
  NETWORK(mobilenet_v2, kClassification)           \
  NETWORK(mobilenet_v1, kClassification)           \
  NETWORK(resnet18, kClassification)               \
  NETWORK(resnet34, kClassification)               \
  NETWORK(resnet50, kClassification)               \
  NETWORK(efficientnet_lite0, kClassification)     \
  NETWORK(bisenetv2, kSegmentation)                \
  NETWORK(deeplabv3_resnet50_os8, kSegmentation)   \
  NETWORK(deeplabv3_resnet50_os16, kSegmentation)  \
  NETWORK(deeplabv3p_resnet50_os8, kSegmentation)  \
  NETWORK(deeplabv3p_resnet50_os16, kSegmentation) \
  NETWORK(gcnet_resnet50_os8, kSegmentation)       \
  NETWORK(gcnet_resnet50_os16, kSegmentation)      \
  NETWORK(pspnet_resnet50_os8, kSegmentation)      \
  NETWORK(pspnet_resnet50_os16, kSegmentation)     \
  NETWORK(unet, kSegmentation)                     \
  NETWORK(pp_liteseg_stdc1, kSegmentation)         \
  NETWORK(pp_liteseg_stdc2, kSegmentation)

#define OCTET_DECLARE(name, task) Graph name(const ModelOptions& options);
OCTET_NETWORKS(OCTET_DECLARE)

namespace {

struct Entry {
  const char* name;
  Task task;
  Graph (*build)(const ModelOptions& options);
};

#define OCTET_ROW(name, task) {#name, Task::task, name},
constexpr Entry kModels[] = {OCTET_NETWORKS(OCTET_ROW)};

const Entry& find_entry(std::string_view name) {
  for (const Entry& entry : kModels)
    if (name == entry.name) return entry;
  std::string meant = nearest(name, model_names());
  fail("no network is called '{}'{}; there are {}", printable(name),
       meant.empty() ? "" : fmt::format(", did you mean {}?", meant), fmt::join(model_names(), ", "));
}

// An option that is far out is a slip, and would only end in too much memory.
template <class T>
void check_range(const char* what, T value, T low, T high) {
  if (!(value >= low && value <= high))
    fail("{} is {}; it can be anything from {} to {}", what, value, low, high);
}

// Every list and number of channels: what is far out is a slip here, too.
void check_options(const SegmentationOptions& options) {
  constexpr int kMost = 1 << 16;
  struct List {
    const char* name;
    const SegmentationOptions::Ints& numbers;
  };
  for (const auto& [name, numbers] :
       {List{"multi_grid", options.multi_grid}, List{"aspp_ratios", options.aspp_ratios},
        List{"bin_sizes", options.bin_sizes}, List{"cm_bin_sizes", options.cm_bin_sizes},
        List{"arm_out_chs", options.arm_out_chs}, List{"seg_head_inter_chs", options.seg_head_inter_chs}}) {
    if (numbers.empty()) fail("{} is empty", name);
    for (int number : numbers)
      if (number < 1 || number > kMost)
        fail("{} has {}; its numbers can be anything from 1 to {}", name, number, kMost);
  }
  check_range("in_channels", options.in_channels, 1, kMost);
  check_range("aspp_out_channels", options.aspp_out_channels, 1, kMost);
  check_range("gc_channels", options.gc_channels, 1, kMost);
  check_range("pp_out_channels", options.pp_out_channels, 1, kMost);
  check_range("cm_out_ch", options.cm_out_ch, 1, kMost);
  check_range("lambd", options.lambd, 0.05, 16.0);
  check_range("ratio", options.ratio, 1e-3, 16.0);
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Entry& entry : kModels) result.emplace_back(entry.name);
    return result;
  }();
  return names;
}

void check_model_name(std::string_view name) {
  find_entry(name);
}

Task task_of(std::string_view name) {
  return find_entry(name).task;
}

Graph build_model(std::string_view name, const ModelOptions& options) {
  const Entry& entry = find_entry(name);
  check_range<std::int64_t>("the number of classes", options.num_classes, 1, 1 << 20);
  check_range<std::int64_t>("the size of the images", options.img_size, 1, 1 << 14);
  check_range("the width", options.width, 0.01, 16.0);
  if (entry.task == Task::kSegmentation) check_options(options.segmentation);
  return entry.build(options);
}

}  // namespace octet::models
