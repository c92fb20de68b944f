#include "kernels/simd/int8.h"

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {

Int8Routines int8_routines() {
  return {};
}

}  // namespace octet::simd::OCTET_SIMD
