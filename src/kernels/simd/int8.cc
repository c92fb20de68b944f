#include "kernels/simd/int8.h"

#include "kernels/simd/int8_parts.h"
#include "kernels/simd/int8_vec.h"

namespace octet::simd::OCTET_SIMD {
namespace {

void widen(const std::int8_t* x, std::int16_t* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i];
}

}  // namespace

Int8Routines int8_routines() {
  return {.features = kFeatures,
          .multiply = int8_multiply,
          .depthwise = int8_depthwise,
          .sum_place = int8_sum_place,
          .weight_place = int8_weight_place,
          .widen = widen};
}

}  // namespace octet::simd::OCTET_SIMD
