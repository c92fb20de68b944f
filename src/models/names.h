#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "tensor/state_dict.h"

// Checkpoints (*.pdparams) of the zoo's networks. There are two ways to name parameters: that of the
// reference pipeline, which is torchvision's and the graph's, and that of paddle.vision. They differ for
// MobileNetV3: features.0.0.weight is conv.0.weight, features.4.block.1.0.weight is
// blocks.3.bottleneck_conv.0.weight.

namespace octet::models {

enum class Naming : std::uint8_t { kReference, kPaddleVision };

// paddle.vision's names of the parameters of a graph of build_model(model), by their names in the graph.
std::map<std::string, std::string> paddle_vision_names(const Graph& graph, std::string_view model);

// The file that a user means by the path of a checkpoint: a file; one without its ending .pdparams; or a
// directory, where it is best.pdparams, else latest.pdparams, model.pdparams or best_model/model.pdparams,
// else the only *.pdparams. An Error that says what was looked for.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// For how many classes the checkpoint was trained; an Error that starts with `source` when it has no last
// layer as `model` has it.
std::int64_t num_classes_of(const StateDict& state, std::string_view model, std::string_view source);

enum class Head : std::uint8_t {
  kMustFit,
  kMayDiffer,  // with another number of classes, the last layer (auxiliary ones, too) keeps the graph's
               // weights
};

struct ReadResult {
  bool head_was_read = true;
  std::vector<std::string> unused;  // items of the checkpoint that the graph has no constant for
};

// What reading a part of a checkpoint, or into a part of a network, came to.
struct PartialResult {
  std::int64_t loaded = 0, total = 0;  // parameters of the network, or of that part of it
  std::vector<std::string> missing;    // those that the checkpoint does not have, with their shapes
  std::vector<std::string> differing;  // "fc.weight is float32 128x10, expected float32 128x4"
  std::vector<std::string> unused;     // items of the checkpoint that no parameter was found for
};

// Fills the graph's parameters from a checkpoint in either naming; they may be views of the checkpoint's
// file. An Error that starts with `source` and says which parameters are missing or have another shape.
ReadResult read_parameters(Graph& graph, const StateDict& state, std::string_view model,
                           std::string_view source, Head head = Head::kMustFit);

// Fills those parameters that the checkpoint has in the right shape; the others stay as they are. With a
// `part`, "backbone", it is a checkpoint of that part of the network alone: its "conv1.weight" is the
// network's "backbone.conv1.weight".
PartialResult read_what_fits(Graph& graph, const StateDict& state, std::string_view model,
                             std::string_view part = {});

// The same for any graph, by the names of its own constants, with copies of the tensors.
void read_parameters_by_name(Graph& graph, const StateDict& state, std::string_view source);

// For who expects a checkpoint to hold nothing else: an Error when there are unused tensors.
void check_all_used(const ReadResult& result, const StateDict& state, std::string_view model,
                    std::string_view source);

// The graph's constants in the network's order, with the names that Paddle's own network gives to its
// variables (conv2d_0.w_0). Tensors are shared with the graph.
StateDict to_state_dict(const Graph& graph, std::string_view model, Naming naming = Naming::kReference);

}  // namespace octet::models
