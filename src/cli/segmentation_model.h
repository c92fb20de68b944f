#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "data/deploy_yaml.h"
#include "graph/graph.h"
#include "train/options.h"

// What commands do with the config of a segmentation network, and with its models: checkpoints, or what was
// exported of them.
namespace octet::cli {

// An Error when the network is no segmentation network.
train::TrainOptions load_segmentation_config(const std::string& file, const std::vector<std::string>& opts);

// `--config` and `--opts` of a command that does more with such a config; without the flag `config` stays
// empty.
void add_segmentation_config(Args& args, std::optional<train::TrainOptions>* config);

// From the network, if this machine lacks it: the config's data sets that octet knows, or a model by its URL,
// which becomes the path of the file.
void fetch_data(train::TrainOptions& config);
void fetch_model(std::string& path);

// Whether a path means a checkpoint (*.pdparams), and not a model for inference.
bool is_checkpoint(const std::string& path);

// The network of the config with the parameters of a checkpoint and the outputs of its auxiliary heads; as
// int8 if that is of quantization-aware training. An Error says which parameters are missing or differ.
Graph load_checkpoint(const train::TrainOptions& config, const std::string& path, bool onnx_format = true);

// A checkpoint as it is exported, or a model for inference.
Model load_segmentation_model(const train::TrainOptions& config, const ModelFlags& model);

// The same, where possible with scores as its first output in place of the classes that it is made to give.
Model load_scoring_model(const train::TrainOptions& config, const ModelFlags& model);
Model with_scores(const Model& model);

// The type of the classes in exported models, by PaddleSeg's version.
DType class_dtype(train::PaddleSeg version);

// What is written of it into deploy.yaml, by PaddleSeg's version.
const Transforms& deployed_transforms(const train::TrainOptions& config);
std::optional<DeployedForm> deployed_form(const train::TrainOptions& config, const Graph& graph);

// How many bytes the files of a checkpoint or a model have.
std::uint64_t bytes_on_disk(const ModelFlags& model);

// An Error unless the model takes one batch of float32 pictures and has classes for each pixel as its first
// output.
void check_segments(const Model& model, const std::string& path);
// Whether that is so for its outputs, as far as the model tells.
bool segments(const Model& model);

}  // namespace octet::cli
