#pragma once
#include <filesystem>
#include <string>

#include "train/network.h"
#include "train/optimizer.h"

// *.pdparams and *.pdopt, as paddle.save writes them.
namespace octet::train {

// How far a run is.
struct Position {
  std::int64_t epoch = 0;           // the one to go on with,
  std::int64_t iteration = 0;       // and its first batch
  std::int64_t done = 0;            // iterations of the run
  std::int64_t epoch_done = 0;      // the epoch of the last one of them
  double best = -1;                 // the best result so far; -1: none yet
  std::int64_t best_iteration = 0;  // after how many iterations
  double learning_rate = 0;         // of that batch
  double loss_scale = 1;
  int good_steps = 0;  // since the loss scale changed
  int since_best = 0;  // evaluations, where a run ends after so many
};

// Which network a checkpoint is of. `model` is one of the zoo's, or "": an imported one, whose parameters
// have the names of its file. `naming` is "reference" or "paddle.vision".
struct CheckpointNames {
  std::string model;
  std::string naming = "reference";
};

// Writes STEM.pdparams and STEM.pdopt for each of the stems, together: who loads one of them after a run was
// killed has all of the checkpoint or all of the one before. `trained` is the weights to go on with, where
// the network has others, averages, at the moment; *.pdopt has them.
void save_checkpoint(const std::filesystem::path& folder, const std::vector<std::string>& stems,
                     const Network& network, Optimizer& optimizer, const Position& position,
                     const CheckpointNames& names, const std::vector<Weight>& trained = {});

// Writes the parameters alone, as they are in the network.
void save_parameters(const std::filesystem::path& file, const Network& network, const CheckpointNames& names);

// Which *.pdparams `path` means: in a folder the first of `preferred` (such as "latest"), elsewhere what
// models::find_checkpoint finds; a *.pdopt means the file beside it.
std::filesystem::path find_parameters(const std::filesystem::path& path,
                                      const std::vector<std::string>& preferred);

// Fills the constants of a graph from the contents of the *.pdparams file `path`. With `new_head` the last
// layer may be of another number of classes and then stays as it is: true is returned when it does.
bool load_parameters(Graph& graph, const StateDict& state, const std::filesystem::path& path,
                     const CheckpointNames& names, bool new_head);

// The rest of a checkpoint, from the *.pdopt beside the *.pdparams: what the optimiser remembers, the
// position, and the weights to go on with where *.pdparams has averages.
Position load_optimizer(const std::filesystem::path& parameters, Network& network, Optimizer& optimizer,
                        const CheckpointNames& names);

// Which checkpoint to resume: `latest` of a folder, or the file that `path` means. If its two files do not
// belong together (copied one by one, or an older octet was killed between them), or a folder has no
// `latest`, it is the newest model_N there that is whole. Of a folder iter_N it is its `model`, and of a
// folder with such folders that of the newest one that is whole.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

}  // namespace octet::train
