#include "kernels/simd/int8.h"

#include "kernels/simd/int8_parts.h"
#include "kernels/simd/isa.h"

namespace octet::simd::OCTET_SIMD {
namespace {

void copy_blocks(const std::int8_t* from, std::int64_t stride, std::int64_t channels, std::int64_t pixels,
                 std::int8_t* to, std::int64_t plane) {
  constexpr std::int64_t kBytes = 4 * kLanes;
  for (std::int64_t i = 0; i < pixels; ++i, from += stride, to += kBytes) {
    std::int8_t* block = to;
    std::int64_t c = 0;
    for (; c + kBytes <= channels; c += kBytes, block += plane) std::memcpy(block, from + c, kBytes);
    if (c == channels) continue;
    std::memset(block, 0, kBytes);
    copy_bytes(block, from + c, channels - c);
  }
}

void point(const std::int8_t* first, std::int64_t step, std::int64_t count, const std::int8_t** pointers) {
  for (std::int64_t i = 0; i < count; ++i, first += step) pointers[i] = first;
}

}  // namespace

Int8Routines int8_routines() {
  return {.features = kFeatures,
          .multiply = int8_multiply,
          .depthwise = int8_depthwise,
          .depthwise_strip = int8_depthwise_strip(),
          .quads = int8_quads(),
          .depthwise_quads = int8_depthwise_quads(),
          .winograd = int8_winograd(),
          .sum_place = int8_sum_place,
          .weight_place = int8_weight_place,
          .copy_blocks = copy_blocks,
          .point = point};
}

}  // namespace octet::simd::OCTET_SIMD
