#pragma once
#include <optional>
#include <span>

#include "graph/graph.h"

// The one description of how numbers are held as integers. Passes, kernels and quant ask it; what a file
// stores becomes it here, and nowhere else.
namespace octet {

// The largest integer of a signed number of this many bits: 127 for 8.
constexpr int levels_of(int bits) {
  return static_cast<int>((std::int64_t{1} << (bits - 1)) - 1);
}

enum class Rounding : std::uint8_t { kEven, kAway };  // of halves: to the even integer, or away from zero

// Whose arithmetic it is: the two differ in the last bit, and each file is computed by its own.
enum class ScaleUnit : std::uint8_t {
  kAbsMax,  // Paddle: round(x * fl(qmax * fl(1 / abs_max))), and back by q * abs_max / qmax; no zero points
  kStep,    // ONNX: round(x / step) + zero_point, and back by (q - zero_point) * step
};

// x = (q - zero_point) * step, where q is an integer from qmin to qmax.
struct Quantization {
  std::vector<double> steps = {};              // one, or one per channel along `axis`
  std::vector<std::int32_t> zero_points = {};  // as many; empty: all are 0
  int bits = 8;
  bool is_signed = true;
  std::int64_t axis = -1;  // -1: one step for the whole tensor
  Rounding rounding = Rounding::kEven;
  ScaleUnit unit = ScaleUnit::kAbsMax;
  DType held_as = DType::kInt8;  // the dtype of the integers: some files hold them as float32

  // Paddle's number, of which a step is the qmax-th part. It comes back from the step to the bit: a double
  // has so many more bits than a float that dividing and multiplying can't change the float that is nearest.
  static Quantization of_abs_max(std::span<const float> abs_max, int bits, std::int64_t axis = -1,
                                 Rounding rounding = Rounding::kEven);
  static Quantization of_abs_max(float abs_max, int bits, Rounding rounding = Rounding::kEven) {
    return of_abs_max(std::span(&abs_max, 1), bits, -1, rounding);
  }
  float abs_max(std::size_t channel = 0) const { return static_cast<float>(step(channel) * qmax()); }

  double step(std::size_t channel = 0) const { return steps[steps.size() == 1 ? 0 : channel]; }
  std::int32_t zero_point(std::size_t channel = 0) const {
    return zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : channel];
  }
  int qmax() const { return is_signed ? levels_of(bits) : levels_of(bits + 1); }
  int qmin() const { return is_signed ? -levels_of(bits) - 1 : 0; }
  bool is_per_tensor() const { return steps.size() == 1; }
  bool operator==(const Quantization&) const = default;
};

// What a quantize, dequantize or fake_quant node says, or what the epilogue of a node quantizes its result
// with. Nothing: it is none of these, or its scales are not known before the run. An axis along which there
// is but one scale is none.
std::optional<Quantization> quantization_of(const Graph& graph, const Node& node);

// The same for a kernel, which sees tensors. `zero_point` may be null.
Quantization quantization_of(const Node& node, const Tensor& scale, const Tensor* zero_point);

// Whether the integer kernels compute with such integers: int8, with any zero point. Pass to_int8 makes int8
// of uint8.
bool has_integer_kernels(const Quantization& quantization);

// Of how many products a sum still fits into int32: of int8, with weights of 9 bits, with an x that lies up
// to 255 away from its zero point.
constexpr std::int64_t max_products(bool wide_weights, bool zero_point) {
  const int bits = 17 - (wide_weights ? 1 : 0) - (zero_point ? 1 : 0);
  return (std::int64_t{1} << bits) - 1;
}
constexpr int kMaxWeight = 254;  // the largest magnitude of weights that are held as int16

// Weights less their zero points, as int8, or int16 where one does not fit; nothing where one is larger than
// kMaxWeight.
std::optional<Tensor> less_zero_points(const Tensor& weights, const Quantization& how);

// What one unit of a product of integers is worth, rounded to a float once.
float product_of_steps(const Quantization& x, const Quantization& w, std::size_t channel);

}  // namespace octet
