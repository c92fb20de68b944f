#pragma once
#include <cmath>

#include "kernels/epilogue.h"
#include "kernels/kernel.h"

// What convolutions and products consist of, and the end of an op: what it makes of a float before it stores
// it.
namespace octet::ref {

// One step of a sum of products: of floats a fused multiply-add, of integers exact (the op table has checked
// that no sum overflows).
inline float multiply_add(float a, float b, float sum) {
  return std::fma(a, b, sum);
}
inline std::int32_t multiply_add(std::int8_t a, std::int8_t b, std::int32_t sum) {
  return sum + a * b;
}

// Adds the bias of an output channel, when there is one, to a sum that is a float already.
class AddBias {
 public:
  explicit AddBias(const Tensor* bias) : bias_(bias ? bias->data<float>().data() : nullptr) {}
  float operator()(float sum, std::int64_t channel) const { return bias_ ? sum + bias_[channel] : sum; }

 private:
  const float* bias_;
};

// Integers to floats, fma(float(sum), multiplier, bias), with the multiplier and bias of an output channel;
// one multiplier may be for all.
class Rescale {
 public:
  Rescale(const Tensor& multiplier, const Tensor* bias)
      : multiplier_(multiplier.data<float>()), bias_(bias ? bias->data<float>().data() : nullptr) {}
  float operator()(std::int32_t sum, std::int64_t channel) const {
    float multiplier = multiplier_[multiplier_.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
    return std::fma(static_cast<float>(sum), multiplier, bias_ ? bias_[channel] : 0.0f);
  }

 private:
  std::span<const float> multiplier_;
  const float* bias_;
};

class Store {
 public:
  explicit Store(const KernelArgs& args);

  // `value` is for element `index` of the output: adds the residual, applies the activation function, stores
  // the float where there is a float output and the integer where there is an int8 one.
  void operator()(float value, std::int64_t index) const;

 private:
  Epilogue epilogue_;
  const float* residual_ = nullptr;
  const std::int8_t* residual_integers_ = nullptr;
  float residual_step_ = 0;
  float* floats_ = nullptr;
  std::int8_t* integers_ = nullptr;
};

}  // namespace octet::ref
