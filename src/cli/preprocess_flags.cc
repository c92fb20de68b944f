#include "cli/preprocess_flags.h"

#include "base/file.h"
#include "base/journal.h"
#include "cli/console.h"
#include "data/deploy_yaml.h"
#include "data/transform_yaml.h"

namespace octet::cli {

namespace {

// A deploy.yaml, a file with a list of transforms, or such a list.
Transforms read_flag(const std::string& words) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  const bool is_file = words.find_first_of("[{\n") == std::string::npos && file_exists(words);
  const std::string text = is_file ? read_text(words, kMaxBytes) : words;
  const std::string name = is_file ? words : "--transforms";
  if (text.find("Deploy:") != std::string::npos)
    if (std::optional<Transforms> transforms = read_deploy_yaml(text, name)) return *transforms;
  return read_transforms(text, name, /*random_allowed=*/false);
}

}  // namespace

void add_preprocess_flags(Args& args, PreprocessFlags* flags) {
  args.group("Preprocessing (default: the model's deploy.yaml, else what is in brackets)");
  args.add("transforms", &flags->transforms, "FILE_OR_YAML",
           "the whole preprocessing, step by step: a file like deploy.yaml, or a list such as [{type: "
           "Letterbox, width: 640, "
           "height: 640, fill: 114}, {type: ToBGR}, {type: Normalize, mean: 0, std: 1}]");
  args.add("resize-size", &flags->overrides.resize_size, {0, kMaxPictureSide},
           "scale the short side to N pixels; 0: don't [256]");
  args.add("crop-size", &flags->overrides.crop_size, {0, kMaxPictureSide},
           "cut an N x N square out of the centre; 0: don't [224]");
  args.add("interpolation", &flags->interpolation, "bilinear|bicubic|nearest|opencv",
           "how to scale: one of Pillow's filters, or OpenCV's bilinear [bilinear]");
  args.add("mean", &flags->overrides.mean,
           "subtracted from the pixels, which are between 0 and 1 [0.485,0.456,0.406]");
  args.add("std", &flags->overrides.std, "what the result is divided by [0.229,0.224,0.225]");
}

bool is_assumed(const PreprocessFlags& flags, const std::string& model_path) {
  return flags.transforms.empty() && flags.overrides == PreprocessOverrides() && !flags.interpolation &&
         !load_deploy_yaml(model_path);
}

void say_what_is_assumed(const PreprocessFlags& flags, const std::string& model_path) {
  if (!is_assumed(flags, model_path)) return;
  Console().notice(fmt::format(
      "no deploy.yaml beside {} says how its pictures are prepared; assumed: short side 256, centre 224 x "
      "224, ImageNet's mean and std",
      model_path));
}

Transforms transforms_of(const PreprocessFlags& flags, const std::string& model_path,
                         const Transforms& given) {
  PreprocessOverrides overrides = flags.overrides;
  if (flags.interpolation) overrides.interpolation = parse_interpolation(*flags.interpolation);
  if (!flags.transforms.empty()) return merge(read_flag(flags.transforms), overrides);
  if (!given.empty()) return merge(given, overrides);
  return merge(load_deploy_yaml(model_path).value_or(evaluation_transforms()), overrides);
}

}  // namespace octet::cli
