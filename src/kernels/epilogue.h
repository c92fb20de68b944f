#pragma once
#include <span>

#include "graph/graph.h"
#include "kernels/quantizer.h"

namespace octet {

struct ActivationFunction;  // graph/activation.h; not included, for this is compiled for each instruction set

// The end of an op that has one (docs/ops.md, "Epilogues"): what becomes of a float before it is stored.
// Plain data that every implementation reads.
struct Epilogue {
  // What most epilogues are, for kernels that have a shorter way for them; kOther is always right.
  enum class Form : std::uint8_t { kNone, kClamp, kHardSwish, kOther };

  int activation = -1;  // the row of activation_table(); -1: none
  float args[3] = {};   // of the activation function
  Form form = Form::kNone;
  float high = 0;  // kClamp: to [0, high]
  bool quantizes = false;
  Quantizer quantizer;  // when it quantizes

  void activate_with(const ActivationFunction& function, std::span<const float> given);
  float activate(float x) const;
};

// `out_scale` is the node's input of that name, or null.
Epilogue read_epilogue(const Node& node, const Tensor* out_scale);

}  // namespace octet
