#pragma once
#include "quant/fake_quant.h"
#include "train/options.h"

// How quantization-aware training begins: which layers, and (Network::quantize) with which ranges.
namespace octet::train {

// An Error when there are none.
std::vector<quant::FakeQuantLayer> layers_to_quantize(const Graph& graph, const QuantOptions& options);

}  // namespace octet::train
