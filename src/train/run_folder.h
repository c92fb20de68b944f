#pragma once
#include <deque>

#include "train/checkpoint.h"

namespace octet::train {

// Whether a run has PaddleSeg's layout: it goes by iterations, which are what checkpoints, evaluations and
// the log are counted in. Other runs go by epochs.
inline bool goes_by_iterations(const TrainOptions& options) {
  return options.task == TaskKind::kSegmentation && options.iters > 0;
}

// The folder that a run writes to. By epochs it has model_N.*, latest.* and best.*; by iterations
// iter_N/model.*, of which the last keep_checkpoint_max stay, and best_model/model.pdparams.
class RunFolder {
 public:
  explicit RunFolder(const TrainOptions& options) : options_(options), folder_(options.output_dir) {}

  // Makes it, with the recipe (recipe.yaml) and, by epochs, the preprocessing and the names of the classes
  // (deploy.yaml) of what will be there.
  void prepare(const std::vector<std::string>& class_names) const;
  // The run is resumed: what was saved up to there counts as well.
  void continue_from(const std::filesystem::path& checkpoint, std::int64_t iteration);

  // What there is to be saved.
  struct State {
    const Network& network;
    Optimizer& optimizer;
    const CheckpointNames& names;
    std::vector<Weight> trained;  // see save_checkpoint
  };
  void save_stopped(const State& state, const Position& position);
  void save(const State& state, const Position& position, bool is_best);

  // The *.pdparams that was saved last; empty: there is none.
  std::filesystem::path last() const { return last_; }
  // What a person says to go on with it: "--resume out".
  std::string how_to_resume() const;

 private:
  void save_iteration(const State& state, const Position& position);

  const TrainOptions& options_;
  const std::filesystem::path folder_;
  std::filesystem::path last_ = {};
  std::deque<std::int64_t> saved_ = {};  // iterations whose folders are there
};

}  // namespace octet::train
