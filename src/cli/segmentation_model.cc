#include "cli/segmentation_model.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/journal.h"
#include "cli/console.h"
#include "cli/download.h"
#include "cli/tensors.h"
#include "cli/train.h"
#include "formats/format.h"
#include "graph/op_table.h"
#include "models/inference.h"
#include "models/models.h"
#include "models/names.h"
#include "passes/scores.h"
#include "quant/deployable.h"
#include "quant/fake_quant.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

train::TrainOptions load_segmentation_config(const std::string& file, const std::vector<std::string>& opts) {
  train::TrainOptions config = load_config(file, opts);
  if (config.task != train::TaskKind::kSegmentation)
    fail("{}: {} is a classifier; this command takes the configs of segmentation networks alone", file,
         config.model);
  config.pretrained.clear();  // where a training would begin
  config.backbone_pretrained.clear();
  return config;
}

void fetch_data(train::TrainOptions& config) {
  Console console;
  fetch_missing(config, console);
}

void fetch_model(std::string& path) {
  Console console;
  path = fetch(path, console);
}

void add_segmentation_config(Args& args, std::optional<train::TrainOptions>* config) {
  auto version = std::make_shared<std::string>();
  args.add_config("a config of PaddleSeg's kind: network, data and preprocessing of a segmentation model",
                  [config, version](const std::string& file, std::vector<std::string> opts) {
                    if (file.empty()) fail("--opts changes what a config says: give one with --config");
                    if (!version->empty()) opts.push_back("paddleseg_version=" + *version);
                    *config = load_segmentation_config(file, opts);
                  });
  Flag& flag = args.add("paddleseg-version", version.get(), "2.2|2.9",
                        "whose meanings count where versions of PaddleSeg disagree");
  flag.default_text = "that of the config, else 2.2";
  flag.set = [version](const std::string& text) { *version = text; };
  args.read_first("paddleseg-version", [version](const std::string& text) { *version = text; });
}

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path.ends_with(".pdparams") || (!file_exists(path) && file_exists(path + ".pdparams"));
  if (file_exists(fs::path(path) / "best_model" / "model.pdparams")) return true;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".pdparams") return true;
  return false;
}

Graph load_checkpoint(const train::TrainOptions& config, const std::string& path, bool onnx_format) {
  const fs::path file = models::find_checkpoint(path);
  const StateDict state = load_state_dict(file);
  Graph graph = models::build_model(config.model, {.num_classes = config.num_classes,
                                                   .width = config.width,
                                                   .fresh_weights = false,
                                                   .segmentation = config.network});
  const models::ReadResult result = models::read_parameters(graph, state, config.model, file.string());
  if (quant::read_fake_quant(graph, state)) return quant::deployable(std::move(graph), onnx_format);
  models::check_all_used(result, state, config.model, file.string());
  return graph;
}

Model load_segmentation_model(const train::TrainOptions& config, const ModelFlags& model) {
  if (!is_checkpoint(model.path)) {
    Model loaded = Model::load(model.path, model.files);
    check_segments(loaded, model.path);
    return loaded;
  }
  Graph graph = load_checkpoint(config, model.path);
  models::to_inference(graph,
                       {.output = models::OutputOp::kArgmax, .class_dtype = class_dtype(config.paddleseg)});
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

Model load_scoring_model(const train::TrainOptions& config, const ModelFlags& model) {
  return with_scores(load_segmentation_model(config, model));
}

Model with_scores(const Model& model) {
  Graph graph = *model.graph();
  infer_shapes(graph);
  take_answer_ops(graph);
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

DType class_dtype(train::PaddleSeg version) {
  return version == train::PaddleSeg::k2_9 ? DType::kInt32 : DType::kInt64;
}

const Transforms& deployed_transforms(const train::TrainOptions& config) {
  return config.paddleseg == train::PaddleSeg::k2_9 ? config.val_transforms : config.export_transforms;
}

std::optional<DeployedForm> deployed_form(const train::TrainOptions& config, const Graph& graph) {
  if (config.paddleseg != train::PaddleSeg::k2_9) return std::nullopt;
  const ValueId output = graph.outputs.at(0);
  const auto maker = std::ranges::find_if(
      graph.nodes, [&](const Node& node) { return !node.outputs.empty() && node.outputs[0] == output; });
  const std::string op = maker == graph.nodes.end() ? "" : maker->op;
  const bool is_class = graph.value(output).dtype != DType::kFloat32;
  return DeployedForm{.input_shape = graph.value(graph.inputs.at(0)).shape,
                      .output_dtype = std::string(name_of(graph.value(output).dtype)),
                      .output_op = is_class          ? "argmax"
                                   : op == "softmax" ? "softmax"
                                                     : "none"};
}

std::uint64_t bytes_on_disk(const ModelFlags& model) {
  if (is_checkpoint(model.path)) return size_of(models::find_checkpoint(model.path));
  const ModelPaths paths = find_model(model.path, model.files);
  return size_of(paths.model) + size_of(paths.weights);
}

bool segments(const Model& model) {
  const std::vector<TensorInfo> outputs = model.outputs();
  if (outputs.empty()) return false;
  const TensorInfo& first = outputs[0];
  const bool is_class = first.dtype == DType::kInt64 || first.dtype == DType::kInt32;
  if (is_class) return first.shape.size() == 3 || (first.shape.size() == 4 && first.shape[1] == 1);
  // Of a picture, and not a row of scores that has kept two dimensions of 1. One score says no class.
  return first.dtype == DType::kFloat32 && first.shape.size() == 4 && first.shape[1] != 1 &&
         !(first.shape[2] == 1 && first.shape[3] == 1);
}

void check_segments(const Model& model, const std::string& path) {
  const std::vector<TensorInfo> inputs = model.inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat32 || inputs[0].shape.size() != 4)
    fail("{}: a segmentation model has one input, float32 pictures N x 3 x H x W; this one has {}", path,
         inputs.size() == 1 ? describe(inputs[0].dtype, inputs[0].shape)
                            : fmt::format("{} inputs", inputs.size()));
  const std::vector<TensorInfo> outputs = model.outputs();
  if (!segments(model))
    fail("{}: the first output is {}, not scores or a class for each pixel; is it a segmentation model?",
         path, outputs.empty() ? "missing" : describe(outputs[0].dtype, outputs[0].shape));
}

}  // namespace octet::cli
