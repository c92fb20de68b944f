#pragma once
#include <functional>

#include "quant/layers.h"

namespace octet::quant {

// Chooses for each weight whether it is rounded up or down, so that the layer's output on the sample changes least
// (the aim of AdaRound). The outputs' squared error is a quadratic function of the roundings, which is brought down by
// flipping one after the other for as long as a flip helps: no gradients, no learning rate, the same result each time.
// `done` is called after each layer.
void round_to_outputs(const Graph& graph, const Points& points, const std::map<ValueId, float>& thresholds,
                      std::map<ValueId, QuantizedWeight>* weights, const Sample& sample, int bits, ThreadPool& pool,
                      const std::function<void()>& done);

}  // namespace octet::quant
