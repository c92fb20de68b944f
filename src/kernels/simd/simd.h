#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "kernels/simd/binary.h"
#include "kernels/simd/float.h"
#include "kernels/simd/image.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/movement.h"
#include "kernels/simd/reduction.h"
#include "kernels/simd/unary.h"

// The inner loops of the fast kernels. Their sources are compiled once for each instruction set, with that
// set's compiler flags, each into a namespace of its own; what comes out is a table of functions on plain
// pointers, which inputs and outputs share only where it says so. Everything that is not an inner loop
// (attributes, shapes, threads, packing) is in kernels/fast, once, and compiled for every CPU. So no code
// with wide instructions can run on a CPU that lacks them.
namespace octet::simd {

struct Simd {
  FloatRoutines f32;
  Int8Routines i8;
  UnaryRoutines unary;
  BinaryRoutines binary;
  ImageRoutines image;
  MovementRoutines movement;
  ReductionRoutines reduction;
};

struct Build {
  std::string_view name;                   // of the instruction set
  std::vector<std::string_view> features;  // what the CPU must have
  const Simd& (*table)();                  // null when this program was built without it. The CPU must have
                                           // the features: it is compiled for them, as all it leads to
};

// Slowest first.
const std::vector<Build>& builds();

}  // namespace octet::simd
