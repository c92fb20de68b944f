#pragma once
#include <optional>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/ref/quantizer.h"

// The end of an integer op: what it makes of a float before it stores it.
namespace octet::ref {

class Epilogue {
 public:
  // `out_scale` is the node's input of that name, or null.
  Epilogue(const KernelArgs& args, const Tensor* out_scale);

  // Applies the activation function to values[0..count), quantizes if there is an out_scale, and stores the
  // result from element `index` of the output on.
  void store(float* values, std::int64_t count, std::int64_t index) const;

 private:
  enum class Activation { kNone, kRelu, kRelu6, kHardSwish, kHardSigmoid, kSwish, kSigmoid, kLeakyRelu };

  void activate(float* values, std::int64_t count) const;

  Activation activation_ = Activation::kNone;
  float args_[3] = {};
  std::optional<Quantizer> quantizer_;
  float* floats_ = nullptr;
  std::int8_t* integers_ = nullptr;
};

// Sums to floats, fma(float(sum), multiplier, bias), with the multiplier and bias of an output channel.
class Rescale {
 public:
  Rescale(const Tensor& multiplier, const Tensor* bias)
      : multiplier_(multiplier.data<float>()), bias_(bias ? bias->data<float>() : std::span<const float>()) {}

  // All sums belong to `channel`.
  std::vector<float> row(const std::int32_t* sums, std::int64_t count, std::int64_t channel) const;
  // One channel each, from `first` on.
  std::vector<float> columns(const std::int32_t* sums, std::int64_t count, std::int64_t first) const;

 private:
  std::span<const float> multiplier_, bias_;
};

}  // namespace octet::ref
