#pragma once

namespace octet {

// Whether this machine has a CUDA device that may be used. Looks for the driver's device file, so that a
// program without CUDA can tell.
bool has_cuda_device();

}  // namespace octet
