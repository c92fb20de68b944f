#pragma once
#include <memory>

#include "comm/comm.h"
#include "train/ema.h"
#include "train/loss.h"
#include "train/loss_scale.h"
#include "train/optimizer.h"
#include "train/reducer.h"

namespace octet::train {

// Teaches a network one batch after the other. A step of the optimiser takes the gradients of one or several
// batches; processes exchange them then.
class Stepper {
 public:
  // Moves the network's parameters into the optimiser's memory.
  Stepper(const TrainOptions& options, const Task& task, Network& network, Comm& comm, LossOptions loss);

  // The batches [begin, end) make up the next step.
  void begin(std::int64_t begin, std::int64_t end) { begin_ = begin, end_ = end; }
  bool is_over(std::int64_t iteration) const { return iteration >= end_; }
  bool ends_with(std::int64_t iteration) const { return iteration + 1 == end_; }

  struct Result {
    std::vector<double> losses;  // one for each output, with its factor
    at::Tensor scores;           // the first output
    double sum() const;
  };
  // The batch of this iteration, counted over all epochs. A loss that is no finite number is returned before
  // anything is learned from it.
  Result run(Batch& batch, std::int64_t iteration, double learning_rate);

  void start_exchange();  // with other processes, if there are any: once all is as it will be
  // Processes see other data, so their statistics differ a little; they go on with the mean.
  void share_statistics();
  // Whether the network answers with finite numbers for the batch of the last step.
  bool is_sound();

  Optimizer& optimizer() { return optimizer_; }
  Ema* ema() { return ema_.get(); }  // none: there are no averages
  LossScale scale;

 private:
  std::vector<at::Tensor> forward(const Tensor& pixels);
  void update(double learning_rate);
  void clip_gradients();

  const TrainOptions& options_;
  const Task& task_;
  Network& network_;
  Comm& comm_;
  const LossOptions loss_;
  const std::vector<ValueId> outputs_;  // that there is a loss for
  Optimizer optimizer_;
  std::unique_ptr<Ema> ema_;
  std::unique_ptr<Comm> statistics_comm_;
  std::unique_ptr<Reducer> reducer_;
  Tensor last_pixels_;
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace octet::train
