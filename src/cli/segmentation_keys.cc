#include "cli/segmentation_keys.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "cli/recipe.h"
#include "models/paddleseg.h"

namespace octet::cli {

namespace {

constexpr std::string_view kBackbones = "ResNet50_vd|STDC1|STDC2";

void add_dataset_keys(Args& args, const std::string& section, MaskData* data) {
  const auto add = [&](const std::string& key, std::string* target, const char* value, const char* help) {
    args.add(section + "." + key, target, value, help).default_text = *target;
  };
  add("type", &data->type, "Dataset|OpticDiscSeg|Cityscapes",
      "pictures with classes, in any form that docs/data.md has; for segmentation one of the three");
  add("mode", &data->mode, "train|val|test", "which of its pictures");
  add("train_path", &data->train_path, "FILE", "Dataset: lines of pictures and masks to train on");
  add("val_path", &data->val_path, "FILE", "and to evaluate on");
  add("test_path", &data->test_path, "FILE", "and to test on");
  // " " is lost as a word of its own.
  Flag& separator = args.add_key(section + ".separator", "TEXT", "Dataset: between the two words of a line");
  separator.set = [data](const std::string& text) {
    if (text.empty()) fail("a separator of no characters");
    data->separator = text;
  };
  separator.get = [data] { return std::vector<std::string>{data->separator}; };
  args.add(section + ".num_classes", &data->num_classes, {0, 255}, "classes of its masks");
  args.add(section + ".ignore_index", &data->ignore_index, {0, 255}, "what pixels of no class have in masks");
  args.add_fixed(section + ".edge", "False", "edge maps: there are none");
  args.add_fixed(section + ".img_channels", "3", "of pictures");
}

void add_test_keys(Args& args, SegmentationKeys* keys, SegmentOptions& test) {
  args.add("test_config.aug_eval", &test.aug_eval, "evaluate at several scales, and mirrored");
  args.add("test_config.scales", &test.scales, "those scales");
  args.add("test_config.flip_horizontal", &keys->flip_horizontal, "with aug_eval: mirrored as well");
  args.add("test_config.flip_vertical", &test.flip_vertical, "and upside down");
  args.add("test_config.is_slide", &test.is_slide, "evaluate in windows");
  args.add("test_config.crop_size", &test.crop_size, "of the window");
  args.add("test_config.stride", &test.stride, "from one window to the next");
}

void add_network_keys(Args& args, SegmentationKeys* keys, train::TrainOptions* train) {
  models::SegmentationOptions& network = train->network;
  args.add("model.backbone.type", &keys->backbone, std::string(kBackbones), "what the network stands on");
  args.add("model.backbone.output_stride", &keys->output_stride, {8, 16},
           "8 or 16: how much smaller its last features are")
      .default_text = "8";
  args.add("model.backbone.multi_grid", &network.multi_grid, "dilations of the last three blocks");
  args.add("model.backbone.pretrained", &train->backbone_pretrained, "FILE_OR_DIR",
           "weights of the backbone alone");
  args.add("model.backbone_indices", &network.backbone_indices, "which features of the backbone are used");
  args.add("model.align_corners", &network.align_corners, "how features are enlarged");
  args.add("model.enable_auxiliary_loss", &network.enable_auxiliary_loss, "GCNet, PSPNet: a second output");
  args.add("model.aspp_ratios", &network.aspp_ratios, "DeepLab: dilations");
  args.add("model.aspp_out_channels", &network.aspp_out_channels, {1, 1 << 16}, "DeepLab");
  args.add("model.gc_channels", &network.gc_channels, {1, 1 << 16}, "GCNet");
  args.add("model.ratio", &network.ratio, "GCNet: channels inside of its block");
  args.add("model.pp_out_channels", &network.pp_out_channels, {1, 1 << 16}, "PSPNet");
  args.add("model.bin_sizes", &network.bin_sizes, "PSPNet: pooled sizes");
  args.add("model.lambd", &network.lambd, "BiSeNetV2: width of its semantic branch");
  args.add("model.use_deconv", &network.use_deconv, "UNet: learned upsampling");
  args.add("model.arm_out_chs", &network.arm_out_chs, "PPLiteSeg");
  args.add("model.seg_head_inter_chs", &network.seg_head_inter_chs, "PPLiteSeg");
  args.add("model.cm_bin_sizes", &network.cm_bin_sizes, "PPLiteSeg");
  args.add("model.cm_out_ch", &network.cm_out_ch, {1, 1 << 16}, "PPLiteSeg");
  args.add_fixed("model.arm_type", "UAFM_SpAtten", "PPLiteSeg");
}

}  // namespace

void add_segmentation_keys(Args& args, SegmentationKeys* keys, train::TrainOptions* train) {
  Flag& task = args.add("task", &keys->task, "classification|segmentation", "what the network is for");
  task.default_text = "what the network is made for";
  task.path = "task";
  Flag& version = args.add("paddleseg-version", &keys->version, "2.2|2.9",
                           "whose meanings count where versions of PaddleSeg disagree");
  version.path = "paddleseg_version";
  add_dataset_keys(args, "train_dataset", &keys->train);
  add_dataset_keys(args, "val_dataset", &keys->val);
  add_transforms(args, "export.transforms", &train->export_transforms, /*random_allowed=*/false,
                 "what deploy.yaml says");
  add_test_keys(args, keys, train->test);
  add_network_keys(args, keys, train);
}

std::string network_of(const std::string& type, const SegmentationKeys& keys) {
  const bool is_paddlesegs = !type.empty() && std::isupper(static_cast<unsigned char>(type[0])) != 0;
  if (!is_paddlesegs && !keys.backbone.empty()) fail("model.backbone: {} has none to choose", type);
  if (!is_paddlesegs) return type;
  return std::string(models::network_of_paddleseg(type, keys.backbone, keys.output_stride.value_or(8)));
}

void set_segmentation(const SegmentationKeys& keys, train::TrainOptions& train) {
  train.train_masks = keys.train;
  train.train_masks.root = train.data_path;
  train.val_masks = keys.val;
  train.val_masks.root = train.val_data_path.empty() ? train.data_path : train.val_data_path;
  if (train.val_masks.type.empty()) train.val_masks.type = train.train_masks.type;
  MaskData &first = train.train_masks, &second = train.val_masks;
  if (second.num_classes == 0 && second.type == first.type) second.num_classes = first.num_classes;

  const int classes = class_count(first);
  if (train.num_classes == 0) train.num_classes = classes;
  if (train.num_classes == 0)
    fail("how many classes are there? Give train_dataset.num_classes or model.num_classes");
  for (MaskData* data : {&first, &second}) {
    if (data->num_classes == 0 && class_count(*data) == 0) data->num_classes = train.num_classes;
    if (class_count(*data) != train.num_classes)
      fail("model.num_classes is {}, and the data set has {} classes", train.num_classes, class_count(*data));
  }
  const auto check_index = [&](const train::LossSpec& loss) {
    if (loss.ignore_index.value_or(first.ignore_index) != first.ignore_index)
      fail("loss: {} has ignore_index {}, and the data set {}", loss.type, *loss.ignore_index,
           first.ignore_index);
  };
  for (const train::LossSpec& loss : train.losses) {
    check_index(loss);
    std::ranges::for_each(loss.losses, check_index);
  }
  // Up to 2.3 mirrored pictures are part of aug_eval unless it says otherwise.
  train.test.flip_horizontal = keys.flip_horizontal.value_or(train.paddleseg == train::PaddleSeg::k2_2);
  if (train.test.is_slide && (train.test.crop_size[0] == 0 || train.test.stride[0] == 0))
    fail("test_config: is_slide needs a crop_size and a stride, each of them a width and a height");
}

}  // namespace octet::cli
