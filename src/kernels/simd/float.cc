#include "kernels/simd/float.h"

#include "kernels/simd/float_parts.h"
#include "kernels/simd/isa.h"

namespace octet::simd::OCTET_SIMD {

FloatRoutines float_routines() {
  return {.lanes = kLanes,
          .panel_width = float_panel_width,
          .multiply = float_multiply,
          .depthwise = float_depthwise,
          .winograd_input = float_winograd_input,
          .winograd_output = float_winograd_output};
}

}  // namespace octet::simd::OCTET_SIMD
