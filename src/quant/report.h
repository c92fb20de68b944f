#pragma once
#include "octet/quantize.h"
#include "quant/calibrate.h"
#include "quant/decisions.h"
#include "quant/progress.h"

namespace octet::quant {

// Runs the float graph and the int8 model made of it on the pictures that were held out (on the sample, if
// there are none), and compares the outputs of all layers.
QuantizeReport make_report(const Graph& graph, const Decisions& decisions, const Graph& quantized,
                           const Calibration& calibration, ThreadPool& pool, const Progressed& progress);

}  // namespace octet::quant
