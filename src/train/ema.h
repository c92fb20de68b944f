#pragma once
#include "train/network.h"

namespace octet::train {

// Exponential moving averages of all parameters and statistics of a network, which often answer better than
// the weights of the last step. In the first steps they follow faster: a step keeps at most (1 + n) / (10 +
// n) of the average, n being the steps before it.
//
//   Ema ema(network, 0.9998);
//   optimizer.step(rate); ema.update(optimizer.steps_done);
//   { const Ema::Use averages(&ema); evaluate(network); }
class Ema {
 public:
  Ema(Network& network, double decay);

  void update(std::int64_t steps);  // after this many steps of the optimiser

  // While it lives the network has the averages, and `others()` the weights. Null: nothing happens.
  class Use {
   public:
    explicit Use(Ema* ema) : ema_(ema) { exchange(); }
    ~Use() { exchange(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    void exchange() {
      if (ema_) ema_->exchange();
    }
    Ema* ema_;
  };

  const std::vector<Weight>& others() const { return others_; }
  std::vector<at::Tensor> statistics();  // those of the averages

 private:
  void exchange();

  Network& network_;
  const double decay_;
  std::vector<Weight> others_;  // what the network has not: parameters, then statistics
};

}  // namespace octet::train
