#pragma once
#include <cmath>

#include "kernels/epilogue.h"
#include "kernels/kernel.h"

// What convolutions and products consist of, and the end of an op: what it makes of a float before it stores
// it.
namespace octet::ref {

// One step of a sum of products: of floats a fused multiply-add, of integers exact (the op table has checked
// that no sum overflows, but for conv2d_integer and matmul_integer, which wrap around).
inline float multiply_add(float a, float b, float sum) {
  return std::fma(a, b, sum);
}
inline std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t sum) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(a * b));
}

// What an operand counts as: of integers, how far it lies from the one that stands for 0.
inline float counted(float x, float /*zero*/) {
  return x;
}
inline std::int32_t counted(std::int32_t x, std::int32_t zero) {
  return x - zero;
}
// The inputs x_zero and weight_zero of an integer op, the second of an output channel; 0 where there is none.
template <class T>
T zero_of(const KernelArgs& args) {
  const Tensor* zero = args.input("x_zero");
  return zero ? zero->data<T>()[0] : T{0};
}
template <class T>
T weight_zero_of(const KernelArgs& args, std::int64_t channel) {
  const Tensor* zero = args.input("weight_zero");
  return zero ? zero->data<T>()[static_cast<std::size_t>(zero->size() == 1 ? 0 : channel)] : T{0};
}

// Calls use.operator()<Weight>() with the type of an integer op's weights.
template <class Use>
void with_weights(const KernelArgs& args, const Use& use) {
  if (args.input("weight")->dtype() == DType::kInt16)
    use.template operator()<std::int16_t>();
  else
    use.template operator()<std::int8_t>();
}

// Calls use.operator()<T, Weight>() with the types of two operands of 8 bits.
template <class Use>
void with_bytes(const KernelArgs& args, const Use& use) {
  auto weights = [&]<class T>() {
    if (args.input("weight")->dtype() == DType::kUInt8)
      use.template operator()<T, std::uint8_t>();
    else
      use.template operator()<T, std::int8_t>();
  };
  if (args.inputs[0]->dtype() == DType::kUInt8)
    weights.template operator()<std::uint8_t>();
  else
    weights.template operator()<std::int8_t>();
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
