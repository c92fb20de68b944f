#pragma once
#include <map>
#include <memory>
#include <string>

#include "train/network.h"
#include "train/options.h"

namespace octet::train {

// Learns the parameters of a network. All of them are moved into one piece of memory, and so are their
// gradients: a step is then a handful of operations, and processes exchange a few large pieces.
class Optimizer {
 public:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999;  // AdamW's

  Optimizer(std::vector<Weight>& parameters, const TrainOptions& options);

  void clear_gradients() { gradients_.zero_(); }
  void step(double learning_rate);  // that of the network; what quantizers learn has its own

  at::Tensor& gradients() { return gradients_; }  // of all parameters, one after the other
  std::int64_t offset(std::size_t parameter) const { return offsets_[parameter]; }

  // What it remembers between steps: for each kind ("velocity", "moment1", ...) a tensor with the layout of
  // gradients().
  std::map<std::string, at::Tensor>& state() { return state_; }
  // The part of such a tensor that belongs to a parameter, in its shape.
  at::Tensor part_of(const at::Tensor& flat, std::size_t parameter) const;
  std::int64_t steps_done = 0;

 private:
  void step(std::int64_t begin, std::int64_t end, double learning_rate, double decay);

  std::vector<Weight>& parameters_;
  const TrainOptions& options_;
  std::vector<std::int64_t> offsets_;
  at::Tensor values_, gradients_;
  // How a parameter is learned: a factor of the learning rate, and its weight decay.
  struct Way {
    double rate = 1, decay = 0;
    bool operator==(const Way&) const = default;
  };
  Way way_of(const Weight& weight) const;
  // Neighbours that are learned in the same way: groups, what is frozen, and what quantizers learn, which
  // stands behind the network's own parameters, part them.
  struct Piece {
    std::int64_t begin = 0, end = 0;
    Way way;
  };
  std::vector<Piece> pieces_;
  std::map<std::string, at::Tensor> state_;
};

}  // namespace octet::train
