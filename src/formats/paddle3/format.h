#pragma once
#include "formats/format.h"

namespace octet::paddle3 {

// The row of Paddle 3's files in the table of formats.
Format format();

}  // namespace octet::paddle3
