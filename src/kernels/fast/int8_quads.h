#pragma once
#include "kernels/kernel.h"

// The depthwise convolutions of 5 x 5 taps that simd::Int8Routines::depthwise_quads takes.
namespace octet::fast {

// Null: it does not take this node.
std::shared_ptr<const Prepared> prepare_quads(const PrepareArgs& args);
// `prepared` is what prepare_quads made.
std::size_t quads_scratch(const KernelArgs& args, const Prepared& prepared);
void run_quads(const KernelArgs& args, const Prepared& prepared);

}  // namespace octet::fast
