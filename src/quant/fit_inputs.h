#pragma once
#include "base/threads.h"
#include "graph/graph.h"
#include "quant/calibration_sample.h"
#include "quant/insertion_points.h"

namespace octet::quant {

// Layers, by what they make, that read x * s + b with constants s and b, and nothing else reads that: the
// learnable affine blocks of PP-LCNetV3 (PP-OCRv4) are such, behind an activation, where no epilogue takes
// them in. Or x * s, with the gate of a squeeze-and-excitation block, where the product is not one of
// integers.
std::vector<ValueId> layers_with_free_inputs(const Graph& graph, const InsertionPoints& points);

// In front of those layers each channel may be scaled, and shifted if there is a constant b: the op is there
// anyway, and the layer's weights and bias make up for it. A tensor has one scale around zero, and what an
// activation makes is hardly ever negative: shifted, it uses all of the 256 levels in place of half of them,
// and channels that reach less far than others get more of them. How far channels are brought to one range,
// for which weights pay, is tried on the sample, with weights of 8 bits, so that kept statistics fit any.
// `changed` gets the tensors whose numbers are other ones now.
void fit_inputs(Graph& graph, const std::vector<ValueId>& layers, int bits, const CalibrationSample& sample,
                ThreadPool& pool, std::vector<ValueId>* changed);

}  // namespace octet::quant
