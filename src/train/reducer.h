#pragma once
#include <memory>

#include "comm/comm.h"
#include "train/optimizer.h"

namespace octet::train {

// Averages the gradients of several processes while the backward pass goes on: as soon as all gradients of a
// piece are there, a thread of its own exchanges it.
//
//   reducer.start();
//   loss.backward();
//   reducer.finish();   // the optimiser's gradients are now the mean over all processes
class Reducer {
 public:
  Reducer(std::vector<Weight>& parameters, Optimizer& optimizer, std::unique_ptr<Comm> comm);
  ~Reducer();

  void start();
  void finish();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace octet::train
