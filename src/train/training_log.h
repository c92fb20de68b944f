#pragma once
#include <memory>

#include "base/reporter.h"
#include "comm/comm.h"
#include "data/loader.h"
#include "report/tensorboard.h"
#include "report/visualdl.h"
#include "tasks/task.h"
#include "train/evaluate.h"
#include "train/options.h"

namespace octet::train {

// What a run says while it goes on: a line every print_freq steps, with means since the last one, and the
// result of each evaluation; the same as curves where that is wanted. The first process speaks
// for all. A run by iterations (run_folder.h) says it in PaddleSeg's words (segmentation_log.h).
class TrainingLog {
 public:
  // What came of a step, and how long it took.
  struct Step {
    std::vector<double> losses = {};  // means over its pictures, one for each output
    std::int64_t samples = 0;
    double reader_seconds = 0, seconds = 0;  // until the batch was there, and altogether
  };
  // Where the run is, counted in two ways.
  struct Place {
    std::int64_t epoch = 0, iteration = 0;  // of the epoch
    std::int64_t number = 0;                // of the run
    std::int64_t total = 0;                 // that the run has
  };

  TrainingLog(const TrainOptions& options, const Task& task, Comm& comm, Reporter& reporter);

  void start_anew();  // the means
  void add(const Step& step);
  void add(const Tensor& output, const Batch& batch);  // what the network answered in a step
  bool counts_answers() const { return counts_answers_; }
  bool is_due(const Place& place) const;
  void print(const Place& place, double learning_rate);
  void pictures(const Batch& batch, std::int64_t epoch);  // the first ones, as the network sees them
  void evaluating(std::int64_t pictures) const;
  // At an epoch, or behind so many iterations.
  void evaluated(const Evaluation& evaluation, std::int64_t at);
  // A table of the classes, or of the `worst` ones.
  void per_class(const Confusion& confusion, const std::string& title, std::int64_t worst = 0);
  void say(const std::string& line) const;
  void start_curves();  // for VisualDL and TensorBoard, if the options want them
  std::vector<std::string> class_names = {};

 private:
  void print_step(const Place& place, double learning_rate, const std::vector<double>& losses,
                  double samples);
  void print_iteration(const Place& place, double learning_rate, const std::vector<double>& losses,
                       double samples);
  void add_scalar(const std::string& tag, std::int64_t step, double value);

  const TrainOptions& options_;
  Comm& comm_;
  Reporter& reporter_;
  const Task& task_;
  const bool by_iterations_;
  const bool counts_answers_;  // of steps; those for pixels would take longer than they tell
  Step sums_;                  // losses: times the samples
  std::unique_ptr<Metric> metric_;
  std::int64_t steps_ = 0;
  std::unique_ptr<VisualDLWriter> curves_;
  std::unique_ptr<TensorBoardWriter> events_;
};

}  // namespace octet::train
