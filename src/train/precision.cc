#include "train/precision.h"

#include <bit>

#include "graph/op_table.h"

namespace octet::train {

namespace {

float round_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // NaN stays one: its low bits alone could carry over into infinity.
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  return x != x ? x : std::bit_cast<float>(rounded);
}

// Rounds on the way forward, and the gradient on the way back.
struct Round : torch::autograd::Function<Round> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            at::ScalarType type) {
    context->saved_data["type"] = static_cast<std::int64_t>(type);
    return rounded_to(x, type);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    return {rounded_to(gradients[0], type), {}};
  }
};

}  // namespace

Cast cast_for(std::string_view op, Amp level) {
  const OpSpec* spec = find_op(op);
  if (level == Amp::kOff || !spec) return Cast::kKeep;
  if (spec->precision == MixedPrecision::kEither) return level == Amp::kO2 ? Cast::kLow : Cast::kKeep;
  return spec->precision == MixedPrecision::kLow ? Cast::kLow : Cast::kFloat;
}

at::Tensor rounded_to(const at::Tensor& x, at::ScalarType type) {
  if (type != at::kBFloat16 || !x.is_cpu() || !x.is_non_overlapping_and_dense())
    return x.to(type).to(at::kFloat);
  at::Tensor y = at::empty_like(x);  // of the same layout in memory, so both are walked through as they lie
  const float* from = x.const_data_ptr<float>();
  float* to = y.data_ptr<float>();
  constexpr std::int64_t kGrain = 1 << 15;
  at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = round_to_bfloat16(from[i]);
  });
  return y;
}

at::Tensor lower(const at::Tensor& x, const Precision& precision) {
  if (!precision.rounded) return x.to(precision.dtype);
  return Round::apply(x, precision.dtype);
}

at::Tensor round_result(const at::Tensor& x, const Precision& precision) {
  return precision.rounded ? Round::apply(x, precision.dtype) : x;
}

}  // namespace octet::train
