#pragma once
#include <vector>

#include "kernels/epilogue.h"
#include "kernels/kernel.h"

// The end of an op: what it makes of a float before it stores it.
namespace octet::ref {

class Store {
 public:
  // `residual` and `out_scale` are the node's inputs of these names, or null.
  Store(const KernelArgs& args, const Tensor* residual, const Tensor* out_scale);

  // values[0..count) belong to the elements of the output from `index` on: adds the residual, applies the
  // activation function, stores the float where there is a float output and the integer where there is an
  // int8 one.
  void operator()(float* values, std::int64_t count, std::int64_t index) const;

 private:
  void activate(float* values, std::int64_t count) const;

  Epilogue epilogue_;
  const float* residual_ = nullptr;
  const std::int8_t* residual_integers_ = nullptr;
  float residual_step_ = 0;
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

// Adds a channel's bias, when there is one, to sums that are floats already.
class AddBias {
 public:
  explicit AddBias(const Tensor* bias) : bias_(bias ? bias->data<float>().data() : nullptr) {}

  std::vector<float> row(const float* sums, std::int64_t count, std::int64_t channel) const;
  std::vector<float> columns(const float* sums, std::int64_t count, std::int64_t first) const;

 private:
  const float* bias_;
};

}  // namespace octet::ref
