#pragma once
#include "formats/format.h"

namespace octet::paddle {

// The row of Paddle's formats in the table of formats.
Format format();

}  // namespace octet::paddle
