#pragma once
#include "tensor/tensor.h"

namespace octet {

// How often two tensors of class scores choose the same class, batch after batch.
struct Agreement {
  std::int64_t decisions = 0, agreed = 0;

  // Of float32 and of one shape: N x C, N x T x C, or N x C x H x W and the like, with a decision for each
  // place. Tensors without classes to choose from count nothing.
  void add(const Tensor& expected, const Tensor& actual);
  void add(bool agrees) {
    ++decisions;
    agreed += agrees;
  }
  double share() const {
    return static_cast<double>(agreed) / static_cast<double>(decisions);
  }  // NaN: of none
};

}  // namespace octet
