#pragma once
#include "base/threads.h"
#include "graph/graph.h"
#include "quant/weights.h"

namespace octet::quant {

// Chooses for each weight of a layer whether it is rounded up or down, so that the layer's output changes
// least (the aim of AdaRound). The output's squared error is a quadratic function of the roundings, which is
// brought down by flipping one after the other for as long as a flip helps: no gradients, no learning rate,
// the same result each time.
class OutputRounding {
 public:
  // `positions`: how many places of the output there are in all that add() will see.
  OutputRounding(const Node& node, std::int64_t axis, const Tensor& floats, std::int64_t positions);

  // What the layer reads in the float model, and in the quantized one, where it is rounded to `threshold`.
  void add(const Tensor& exact, const Tensor& given, float threshold, int bits);
  // `shift_is_free`: what moves a whole channel will be taken out by its bias.
  void round(QuantizedWeight* weight, bool shift_is_free, ThreadPool& pool);

  // The places of a layer's output for an input of this shape; 0: its kind of layer can't be rounded like
  // this.
  static std::int64_t positions(const Node& node, const Shape& weight, const Shape& x);

 private:
  void round_group(std::int64_t group, QuantizedWeight* weight, ThreadPool& pool);

  const Node& node_;
  std::int64_t axis_;
  Tensor floats_;
  std::int64_t step_;
  std::vector<float> exact_, rounded_;  // a row for each position: what all weights of all groups see
};

}  // namespace octet::quant
