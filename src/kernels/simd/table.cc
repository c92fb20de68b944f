#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {

const Simd& table();  // for builds.cc, which knows all of them
const Simd& table() {
  static const Simd kTable = {float_routines(), int8_routines(), kUnary,    kBinary,
                              kImage,           kMovement,       kReduction};
  return kTable;
}

}  // namespace octet::simd::OCTET_SIMD
