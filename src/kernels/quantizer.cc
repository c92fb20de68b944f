#include "kernels/quantizer.h"

#include "base/clones.h"

namespace octet {

OCTET_CLONES void quantize_run(const float* x, std::int64_t count, const Quantizer& quantizer, float* y) {
  Quantizer q = quantizer;
  for (std::int64_t i = 0; i < count; ++i) y[i] = q(x[i]);
}

OCTET_CLONES void quantize_run(const float* x, std::int64_t count, const Quantizer& quantizer,
                               std::int8_t* y) {
  Quantizer q = quantizer;
  for (std::int64_t i = 0; i < count; ++i) y[i] = q.to_int8(x[i]);
}

}  // namespace octet
