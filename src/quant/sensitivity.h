#pragma once
#include "quant/layers.h"

namespace octet::quant {

// A layer's part in the whole.
struct LayerShare {
  Layer layer;
  double error = 0;    // of the outputs, when it is the only layer that is quantized
  double work = 0;     // its share of the multiplications of all layers
  double weights = 0;  // and of their weights
};

// Of the layers with weights whose inputs nobody else reads as integers.
std::vector<LayerShare> layer_shares(const Graph& graph, const Decisions& decisions, const Sample& sample,
                                     const OutputError& output, ThreadPool& pool, const Progressed& progress);

}  // namespace octet::quant
