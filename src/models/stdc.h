#pragma once
#include <span>

#include "models/seg_layers.h"

namespace octet::models {

// The five stages of an STDC network, "Rethinking BiSeNet For Real-time Semantic Segmentation"
// (arXiv:2104.13188), as PaddleSeg has it, with so many blocks in each of the last three; parameters are
// called backbone.features.0.conv and so on.
std::vector<ValueId> stdc(Layers& layers, ValueId picture, std::span<const int> depths);

}  // namespace octet::models
