#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/tensors.h"
#include "data/classification.h"
#include "data/deploy_yaml.h"
#include "data/transforms/resize.h"
#include "formats/format.h"
#include "models/inference.h"
#include "models/inference_model.h"
#include "models/models.h"
#include "models/names.h"
#include "models/new_head.h"
#include "quant/deployable.h"
#include "quant/fake_quant.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model = "mobilenet_v3_small";
  std::string model_dir;  // in place of it
  std::string pretrained;
  std::optional<int> num_classes;
  double width = 1.0;
  std::string output;
  std::string format = SaveOptions().format;
  std::string model_name = "inference";
  int img_size = 224;
  bool no_softmax = false;
  bool onnx_format = true;
  PreprocessOverrides preprocess;
  std::optional<std::string> interpolation;
};

// The network with the checkpoint's parameters; as int8 if that is of quantization-aware training.
Graph load_network(const Options& options, const fs::path& checkpoint) {
  const std::string source = checkpoint.string();
  const bool is_imported = !options.model_dir.empty();
  StateDict state = load_state_dict(checkpoint);
  Graph graph;
  models::ReadResult result;
  if (is_imported) {
    graph = models::load_inference_model(options.model_dir).graph;
    models::fit_head(graph, models::num_classes_of(graph, state), /*seed=*/0, options.model_dir);
    models::read_parameters_by_name(graph, state, source);
  } else {
    std::int64_t classes = models::num_classes_of(state, options.model, source);
    if (options.num_classes && *options.num_classes != classes)
      fail("--num-classes {}: {} has {} classes", *options.num_classes, source, classes);
    graph = models::build_model(
        options.model, {.num_classes = classes, .img_size = options.img_size, .width = options.width});
    result = models::read_parameters(graph, state, options.model, source);
  }
  if (quant::read_fake_quant(graph, state)) return quant::deployable(std::move(graph), options.onnx_format);
  if (!is_imported) models::check_all_used(result, state, options.model, source);
  return graph;
}

// As in training, if there is a deploy.yaml beside the checkpoint; else ImageNet's 256 and 224, in
// proportion.
Transforms transforms_for(const Options& options, const fs::path& checkpoint) {
  Transforms transforms = load_deploy_yaml(checkpoint).value_or(evaluation_transforms());
  const auto* crop = find<CenterCrop>(transforms);
  if (options.model_dir.empty() && (!crop || crop->size != options.img_size))
    transforms = merge(transforms, {.resize_size = std::min(options.img_size * 256 / 224, kMaxPictureSide),
                                    .crop_size = options.img_size});
  PreprocessOverrides overrides = options.preprocess;
  if (options.interpolation) overrides.interpolation = parse_interpolation(*options.interpolation);
  return merge(transforms, overrides);
}

int export_model(const Options& options) {
  models::check_model_name(options.model);
  const fs::path checkpoint = models::find_checkpoint(options.pretrained);
  const fs::path directory = options.output;
  const Format& format = find_format(options.format);
  const auto named = [&](std::string_view usual) {
    return options.model_name + fs::path(usual).extension().string();
  };
  const std::string program = named(format.model_file), params = named(format.weights_file);
  const Transforms transforms = transforms_for(options, checkpoint);
  Graph graph = load_network(options, checkpoint);
  models::to_inference(graph,
                       {.output = options.no_softmax ? models::OutputOp::kNone : models::OutputOp::kSoftmax});
  const std::vector<std::string> class_names = load_class_names(checkpoint);
  make_directory(directory);
  AtomicFiles files;
  add_model(files, graph, directory, {options.format, program, params});
  files.add(directory / "deploy.yaml", write_deploy_yaml(transforms, program, params, class_names));
  files.commit();
  for (const std::string& name : {program, params, std::string("deploy.yaml")})
    say("wrote {} ({})\n", printable((directory / name).string()),
        format_bytes(fs::file_size(directory / name)));
  return 0;
}

}  // namespace

std::function<int()> declare_export(Args& args) {
  auto options = std::make_shared<Options>();
  args.group("Network");
  args.add(
      "model", &options->model, "NAME",
      fmt::format("the network that the checkpoint belongs to: {}", fmt::join(models::model_names(), ", ")));
  args.add("model-dir", &options->model_dir, "MODEL",
           "if an inference model was fine-tuned with `octet train --model-dir`: that model");
  args.add("pretrained", &options->pretrained, "FILE_OR_DIR",
           "the checkpoint, with or without .pdparams; in a directory, best.pdparams or else latest.pdparams")
      .required = true;
  args.add("num-classes", &options->num_classes, {1, 1 << 20}, "if given, must match the checkpoint");
  args.add("width", &options->width, "the channel multiplier it was trained with");
  args.group("Output");
  args.add("save-inference-dir", &options->output, "DIR", "the directory to write to; made if need be")
      .required = true;
  add_format_flag(args, &options->format);
  args.add("model-name", &options->model_name, "inference|model", "what the files are called");
  args.add("img-size", &options->img_size, {1, kMaxPictureSide}, "height and width of the model's input");
  args.add("no-softmax", &options->no_softmax, "end in scores, not in probabilities");
  args.add(
      "onnx-format", &options->onnx_format,
      "of a quantization-aware checkpoint: the newer generation of Paddle's int8 models; False: the older");
  args.group(
      "Preprocessing, for deploy.yaml (default: that beside the checkpoint, else what is in brackets)");
  args.add("resize-size", &options->preprocess.resize_size, {0, kMaxPictureSide},
           "scale the short side to N pixels; 0: don't [256/224 of the image size]");
  args.add("interpolation", &options->interpolation, "bilinear|bicubic|nearest|opencv",
           "how to scale: one of Pillow's filters, or OpenCV's bilinear [bilinear]");
  args.add("mean", &options->preprocess.mean,
           "subtracted from the pixels, which are between 0 and 1 [0.485,0.456,0.406]");
  args.add("std", &options->preprocess.std, "what the result is divided by [0.229,0.224,0.225]");
  args.note(
      "Writes a Paddle inference model, and deploy.yaml with its preprocessing. Parameters may be named as "
      "in "
      "paddle.vision or as in the reference pipeline.");
  args.example("octet export --pretrained output/mobilenet_v3_small --save-inference-dir float");
  args.example("octet export --model resnet50 --pretrained resnet50 --save_inference_dir float");
  return [options] { return export_model(*options); };
}

}  // namespace octet::cli
