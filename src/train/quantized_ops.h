#pragma once
#include "train/ops.h"

namespace octet::train {

// The ops with which a quantized model is simulated in float: quantize, dequantize and so on. They have no
// gradients. Null: the op is none of them.
Operation find_quantization(std::string_view op);

}  // namespace octet::train
