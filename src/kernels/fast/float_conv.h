#pragma once
#include "kernels/fast/float.h"

// The direct convolution, for implementations that fall back to it.
namespace octet::fast {

// `bias` may be empty.
std::shared_ptr<const Prepared> pack_conv(const simd::FloatRoutines& routines, const Tensor& weight,
                                          const Tensor& bias, std::int64_t groups);
void run_conv(const KernelArgs& args);

}  // namespace octet::fast
