#pragma once
#include <string>

#include "runtime/executor.h"

namespace octet::train {

// Puts graphs on a device of libtorch ("cpu", "gpu", "gpu:N"), where they run in fp32 or fp16; a quantized
// graph is simulated. An Error says why the device can't be used.
DeviceLoader load_on(const std::string& device, const std::string& precision);

}  // namespace octet::train
