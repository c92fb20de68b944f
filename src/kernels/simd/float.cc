#include "kernels/simd/float.h"

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {

FloatRoutines float_routines() {
  return {};
}

}  // namespace octet::simd::OCTET_SIMD
