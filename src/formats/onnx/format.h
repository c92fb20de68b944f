#pragma once
#include "formats/format.h"

namespace octet::onnx {

Format format();  // the row of the table of formats

}  // namespace octet::onnx
