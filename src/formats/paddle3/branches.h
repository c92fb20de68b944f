#pragma once
#include "formats/paddle3/program.h"

namespace octet::paddle3 {

// Puts the ops of the block that runs in place of an `if` whose condition is a constant, and of a `while`
// whose condition is never true. Other control flow stays: octet carries it along and does not run it.
void take_constant_branches(Program& program);

}  // namespace octet::paddle3
