#pragma once
#include "quant/calibrate.h"
#include "quant/decisions.h"

namespace octet::quant {

// What a ReLU makes is never negative, so a scale around zero leaves half of the levels unused. Where a 1x1
// convolution alone reads max(0, z + bias), that can be helped for nothing: it reads max(0, z + bias) - c
// with c in the middle, and its own bias makes up for it. The int8 model needs no ReLU there, for
// quantization clips at the lowest integer: it computes z + (bias - c). (Where taps may lie on the padding,
// zeros would have to be something else.) The range is the one with the least squared error of rounding and
// clipping.
// The input of a product with many outputs, such as a classifier, is so small beside its work that the
// subtraction may cost an op of its own, behind whatever makes it, as long as it is hardly ever negative.
//
// Puts the subtractions into `graph`; the tensors that layers read stay the same values.
// `clips_symmetrically`: the lowest integer is -qmax, as in Paddle's older generation of files, not -qmax
// - 1. `changed` gets the tensors whose numbers are other ones now.
std::map<ValueId, InputShift> shift_inputs(Graph& graph, const InsertionPoints& points,
                                           const Calibration& calibration, int bits, bool clips_symmetrically,
                                           std::vector<ValueId>* changed);

// In a graph with quantization inserted: where a shifted tensor is quantized, its ReLU and the subtraction
// go away, unless that is an op of its own; where its layer was left in float, the shift is taken back.
void settle_shifts(Graph& graph, const std::map<ValueId, InputShift>& shifts);

}  // namespace octet::quant
