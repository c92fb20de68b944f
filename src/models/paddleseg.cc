#include "models/paddleseg.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace octet::models {

namespace {

struct Row {
  std::string_view type, backbone;
  std::int64_t output_stride;  // 0: it has none to choose
  std::string_view network;
};

constexpr Row kRows[] = {
    {"BiSeNetV2", "", 0, "bisenetv2"},
    {"DeepLabV3", "ResNet50_vd", 8, "deeplabv3_resnet50_os8"},
    {"DeepLabV3", "ResNet50_vd", 16, "deeplabv3_resnet50_os16"},
    {"DeepLabV3P", "ResNet50_vd", 8, "deeplabv3p_resnet50_os8"},
    {"DeepLabV3P", "ResNet50_vd", 16, "deeplabv3p_resnet50_os16"},
    {"GCNet", "ResNet50_vd", 8, "gcnet_resnet50_os8"},
    {"GCNet", "ResNet50_vd", 16, "gcnet_resnet50_os16"},
    {"PSPNet", "ResNet50_vd", 8, "pspnet_resnet50_os8"},
    {"PSPNet", "ResNet50_vd", 16, "pspnet_resnet50_os16"},
    {"UNet", "", 0, "unet"},
    {"PPLiteSeg", "STDC1", 0, "pp_liteseg_stdc1"},
    {"PPLiteSeg", "STDC2", 0, "pp_liteseg_stdc2"},
};

// What is wrong with a word of a config: it is none of those.
[[noreturn]] void refuse(std::string_view what, std::string_view word, std::vector<std::string> known) {
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string meant = nearest(word, known);
  fail("{} '{}' is not known{}; there {} {}", what, printable(word),
       meant.empty() ? "" : fmt::format(", did you mean {}?", meant), known.size() == 1 ? "is" : "are",
       fmt::join(known, ", "));
}

}  // namespace

std::string_view network_of_paddleseg(std::string_view type, std::string_view backbone,
                                      std::int64_t output_stride) {
  std::vector<std::string> types, backbones, strides;
  for (const Row& row : kRows) {
    types.emplace_back(row.type);
    if (row.type != type) continue;
    backbones.emplace_back(row.backbone);
    if (row.backbone != backbone) continue;
    if (row.output_stride == 0 || row.output_stride == output_stride) return row.network;
    strides.push_back(std::to_string(row.output_stride));
  }
  if (backbones.empty()) refuse("the model", type, types);
  if (!strides.empty())
    fail("{} of {} has output_stride {}; it can be {}", backbone, type, output_stride,
         fmt::join(strides, " or "));
  if (backbones[0].empty()) fail("{} has no backbone; the config gives it '{}'", type, printable(backbone));
  if (backbone.empty()) fail("{} needs a backbone; there is {}", type, backbones[0]);
  refuse("the backbone", backbone, backbones);
}

}  // namespace octet::models
