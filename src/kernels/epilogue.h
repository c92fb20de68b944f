#pragma once
#include "graph/graph.h"
#include "kernels/quantizer.h"

namespace octet {

enum class Activation : std::uint8_t {
  kNone,
  kRelu,
  kRelu6,
  kHardSwish,
  kHardSigmoid,
  kSwish,
  kSigmoid,
  kLeakyRelu,
};

// The end of an op that has one (docs/ops.md, "Epilogues"): what becomes of a float before it is stored.
// Plain data that every implementation reads.
struct Epilogue {
  Activation activation = Activation::kNone;
  float args[3] = {};  // of the activation function
  bool quantizes = false;
  Quantizer quantizer;  // of_abs_max, when it quantizes
};

// `out_scale` is the node's input of that name, or null.
Epilogue read_epilogue(const Node& node, const Tensor* out_scale);

}  // namespace octet
