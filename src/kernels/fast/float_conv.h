#pragma once
#include "kernels/fast/float.h"

// The direct convolution, for implementations that fall back to it.
namespace octet::fast {

std::shared_ptr<const Prepared> prepare_conv(const PrepareArgs& args);
void run_conv(const KernelArgs& args);

}  // namespace octet::fast
