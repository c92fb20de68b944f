#pragma once
#include <memory>

#include "comm/comm.h"
#include "train/torch.h"

namespace octet::train {

// Averages tensors of several processes on their GPUs, while those compute. Only where octet is built with
// CUDA.
class Nccl {
 public:
  // Null when two processes share a GPU, which NCCL can't do. All processes call it at the same time.
  static std::unique_ptr<Nccl> connect(Comm& comm, at::Device device);
  ~Nccl();

  // The tensor, which is what the device's main stream made of it so far, becomes the mean over all
  // processes. Returns at once.
  void average(const at::Tensor& tensor);
  // The main stream goes on when all is averaged.
  void finish();

 private:
  struct State;
  explicit Nccl(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace octet::train
