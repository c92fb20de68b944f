#pragma once
#include <string>

#include "runtime/executor.h"

namespace octet::train {

// A device of libtorch ("cpu", "gpu", "gpu:N"), where graphs run in fp32 or fp16; a quantized graph is
// simulated. An Error says why the device can't be used.
std::shared_ptr<const Device> open_device(const std::string& device, const std::string& precision);

}  // namespace octet::train
