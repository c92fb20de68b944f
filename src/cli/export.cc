#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/segmentation_model.h"
#include "cli/shapes.h"
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
  SaveOptions save;
  std::string model_name;  // empty: "inference", of segmentation "model"
  int img_size = 224;
  bool no_softmax = false;
  bool onnx_format = true;
  PreprocessOverrides preprocess;
  std::optional<std::string> interpolation;

  std::optional<train::TrainOptions> config;  // of a segmentation network; none: a classifier
  std::string output_op;                      // empty: what follows from the next two
  bool without_argmax = false, with_softmax = false;
  bool keep_aux = false;
  std::vector<std::string> input_shape;  // as given: 1x3x512x512, or its numbers; empty: any
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

// The files of the exported model, and what deploy.yaml says of it.
struct Exported {
  Graph graph;
  Transforms transforms;
  std::vector<std::string> class_names = {};
  std::optional<DeployedForm> form = {};
};

void save(const Exported& model, const Options& options) {
  SaveOptions save = options.save;
  std::string output = options.output;
  take_file_name(&output, &save);
  const fs::path directory = output;
  const Format& format = find_format(save.format);
  const auto named = [&](std::string_view usual) {
    const std::string name = !options.model_name.empty() ? options.model_name
                             : options.config            ? "model"
                                                         : "inference";
    return name + fs::path(usual).extension().string();
  };
  if (save.model_file.empty()) save.model_file = named(format.model_file);
  if (!format.weights_file.empty()) save.weights_file = named(format.weights_file);
  save = saved_files(save, {});
  make_directory(directory);
  AtomicFiles files;
  add_model(files, model.graph, directory, save);
  files.add(directory / "deploy.yaml", write_deploy_yaml(model.transforms, save.model_file, save.weights_file,
                                                         model.class_names, model.form));
  files.commit();
  for (const std::string& name : {save.model_file, save.weights_file, std::string("deploy.yaml")})
    if (!name.empty())
      say("wrote {} ({})\n", printable((directory / name).string()),
          format_bytes(fs::file_size(directory / name)));
}

models::OutputOp output_op(const Options& options) {
  if (options.output_op.empty())
    return !options.without_argmax ? models::OutputOp::kArgmax
           : options.with_softmax  ? models::OutputOp::kSoftmax
                                   : models::OutputOp::kNone;
  if (options.without_argmax || options.with_softmax)
    fail("give either --output-op or --without-argmax and --with-softmax, which are older words for it");
  return options.output_op == "argmax"    ? models::OutputOp::kArgmax
         : options.output_op == "softmax" ? models::OutputOp::kSoftmax
                                          : models::OutputOp::kNone;
}

// A checkpoint of the network that the config describes.
Exported segmentation_model(const Options& options) {
  const train::TrainOptions& config = *options.config;
  const models::OutputOp op = output_op(options);
  Exported result{.graph = load_checkpoint(config, options.pretrained, options.onnx_format),
                  .transforms = deployed_transforms(config)};
  const DType classes = class_dtype(config.paddleseg);
  models::to_inference(result.graph, {.output = op, .class_dtype = classes, .keep_aux = options.keep_aux});
  const Shape shape = parse_input_shape(options.input_shape);
  const bool is_fixed = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size > 0; });
  if (is_fixed && shape != result.graph.value(result.graph.inputs.at(0)).shape)
    models::fix_input_shape(result.graph, shape);
  result.form = deployed_form(config, result.graph);
  return result;
}

int export_model(Options& options) {
  if (options.pretrained.empty())
    fail("--pretrained (or --model-path) is required: the checkpoint to export");
  fetch_model(options.pretrained);
  if (options.config) {
    if (options.output.empty()) options.output = "./output";
    save(segmentation_model(options), options);
    return 0;
  }
  if (options.output.empty()) fail("--save-inference-dir is required: the directory to write to");
  if (!options.output_op.empty() || options.without_argmax || options.with_softmax || options.keep_aux ||
      !options.input_shape.empty())
    fail(
        "--output-op, --without-argmax, --with-softmax, --keep-aux and --input are for segmentation "
        "networks: "
        "give the network's --config; of a classifier there are --no-softmax and --img-size");
  models::check_model_name(options.model);
  if (models::task_of(options.model) == models::Task::kSegmentation)
    fail("{} is a segmentation network: give its --config, which says what it is exported with",
         options.model);
  const fs::path checkpoint = models::find_checkpoint(options.pretrained);
  const Transforms transforms = transforms_for(options, checkpoint);
  Graph graph = load_network(options, checkpoint);
  models::to_inference(graph,
                       {.output = options.no_softmax ? models::OutputOp::kNone : models::OutputOp::kSoftmax});
  save({std::move(graph), transforms, load_class_names(checkpoint)}, options);
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
  args.add(
          "pretrained", &options->pretrained, "FILE_OR_DIR",
          "the checkpoint, with or without .pdparams; in a directory, best.pdparams or else latest.pdparams, "
          "model.pdparams or best_model/model.pdparams")
      .aliases = {"model-path"};
  add_segmentation_config(args, &options->config);
  args.add("num-classes", &options->num_classes, {1, 1 << 20}, "if given, must match the checkpoint");
  args.add("width", &options->width, "the channel multiplier it was trained with");
  add_memory_flag(args);
  args.group("Output");
  Flag& output =
      args.add("save-inference-dir", &options->output, "DIR_OR_FILE",
               "the directory to write to, made if need be; or an ONNX file, whose name ends in .onnx");
  output.aliases = {"save-dir"};
  output.default_text = "with --config: ./output";
  add_format_flags(args, &options->save);
  args.add("model-name", &options->model_name, "inference|model", "what the files are called").default_text =
      "inference; with --config: model";
  args.add("img-size", &options->img_size, {1, kMaxPictureSide}, "height and width of a classifier's input");
  args.add("no-softmax", &options->no_softmax, "end in scores, not in probabilities");
  args.add(
      "onnx-format", &options->onnx_format,
      "of a quantization-aware checkpoint: the newer generation of Paddle's int8 models; False: the older");
  args.group("Segmentation, with --config");
  args.add("output-op", &options->output_op, "argmax|softmax|none",
           "what the model gives for each pixel: its class, probabilities of the classes, or their scores")
      .default_text = "argmax";
  args.add("without-argmax", &options->without_argmax, "an older word for --output-op none");
  args.add("with-softmax", &options->with_softmax, "with that one: for --output-op softmax");
  args.add("keep-aux", &options->keep_aux, "the outputs of auxiliary heads, too");
  args.add("input", &options->input_shape, "SHAPE",
           "pictures of this shape alone, such as 1x3x512x1024; without it of any size")
      .aliases = {"input-shape"};
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
  args.example("octet export --config bisenet.yml --model_path output/best_model --save_dir float");
  args.example("octet export --model resnet50 --pretrained resnet50 --save_inference_dir float");
  return [options] { return export_model(*options); };
}

}  // namespace octet::cli
