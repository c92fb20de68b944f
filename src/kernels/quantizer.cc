#include "kernels/quantizer.h"

#include "base/clones.h"
#include "graph/quantization.h"

namespace octet {

Quantizer::Quantizer(const Quantization& how, std::size_t channel)
    : low(static_cast<float>(how.qmin())),
      high(static_cast<float>(how.qmax())),
      away(how.rounding == Rounding::kAway),
      by_step(how.unit == ScaleUnit::kStep) {
  if (by_step) {
    step = static_cast<float>(how.step(channel));
    zero_point = static_cast<float>(how.zero_point(channel));
  } else {
    clip = how.abs_max(channel);
    multiplier = high * inverse_of(clip);
  }
}

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
