#pragma once
#include "octet/quantize.h"
#include "quant/calibrate.h"
#include "quant/layers.h"

namespace octet::quant {

// Runs the float graph and the int8 model made of it on the sample, and compares the outputs of all layers.
QuantizeReport judge(const Graph& graph, const Decisions& decisions, const Graph& quantized,
                     const Calibration& calibration, const Sample& sample, ThreadPool& pool,
                     const Progressed& progress);

}  // namespace octet::quant
