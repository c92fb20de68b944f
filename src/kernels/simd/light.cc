#include "kernels/simd/light.h"

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {
namespace {

void activate(const Epilogue& epilogue, const float* x, float* y, std::int64_t count) {
  with_activation(epilogue, [&](auto function) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) store(y + i, function(load(x + i)));
    if (i < count) store_first(y + i, function(load_first(x + i, count - i)), count - i);
  });
}

}  // namespace

LightRoutines light_routines() {
  return {.activate = activate};
}

}  // namespace octet::simd::OCTET_SIMD
