#pragma once
#include <optional>

#include "comm/comm.h"
#include "octet/quantize.h"
#include "quant/calibration_sample.h"

namespace octet::quant {

// quantize() by several processes, each of which is asked for the batches whose index is its rank modulo
// their number. `others` are not for calibration: the result is judged on the first of them. Rank 0 gets the
// model, to the bit the one that a process alone makes; the others get nothing.
std::optional<Model> quantize_together(const Model& model, const Batches& batches, const Batches& others,
                                       const QuantizeOptions& options, QuantizeReport* report, Comm& comm);

}  // namespace octet::quant
