#pragma once
#include "graph/activation.h"
#include "kernels/quantizer.h"

namespace octet {

// The end of an op that has one (docs/ops.md, "Epilogues"): what becomes of a float before it is stored.
// Plain data that every implementation reads.
struct Epilogue {
  // What most epilogues are, for kernels that have a shorter way for them; kOther is always right.
  enum class Form : std::uint8_t { kNone, kClamp, kHardSwish, kOther };

  int activation = -1;       // the row of activation_table(); -1: none
  ActivationArgs args = {};  // of the activation function
  Form form = Form::kNone;
  float high = 0;  // kClamp: to [0, high]
  bool quantizes = false;
  Quantizer quantizer;  // of_abs_max, when it quantizes

  void activate_with(const ActivationFunction& function, const ActivationArgs& given);
  float activate(float x) const { return activation < 0 ? x : activation_table()[row()].value(x, args); }

 private:
  std::size_t row() const { return static_cast<std::size_t>(activation); }
};

// `out_scale` is the node's input of that name, or null.
Epilogue read_epilogue(const Node& node, const Tensor* out_scale);

}  // namespace octet
