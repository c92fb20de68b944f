#pragma once
#include "kernels/fast/int8_pack.h"

// The direct convolution, for implementations that fall back to it.
namespace octet::fast {

std::shared_ptr<const Prepared> pack_conv(const simd::Int8Features& features, const Node& node,
                                          const Tensor& weight, const Rescaling& rescaling);
std::size_t int8_conv_scratch(const KernelArgs& args);
void run_int8_conv(const KernelArgs& args);

}  // namespace octet::fast
