#include "graph/shape_values.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/ops/resolve.h"

namespace octet {

namespace {

using MaybeInt = std::optional<std::int64_t>;
using ops::MaybeInts;

constexpr std::int64_t kMaxValues = 64;

MaybeInts of_shape(const Shape& shape) {
  MaybeInts values;
  for (std::int64_t dim : shape) values.push_back(dim == kUnknown ? MaybeInt() : dim);
  return values;
}

MaybeInts sliced(const Node& node, ops::Inputs inputs, const MaybeInts& x, std::size_t count) {
  if (inputs[0]->shape.size() != 1) return MaybeInts(count);
  ops::SliceDim dim = ops::slice_dims(node, inputs)[0];
  if (dim.size == kUnknown) return MaybeInts(count);
  MaybeInts values;
  for (std::int64_t i = 0; i < dim.size; ++i)
    values.push_back(x[static_cast<std::size_t>(dim.begin + i * dim.step)]);
  return values;
}

// One number by two; nothing when it is not defined or does not fit.
MaybeInt combine(std::string_view op, MaybeInt a, MaybeInt b) {
  if (!a || !b) return {};
  std::int64_t result = 0;
  if (op == "max" || op == "min") return op == "max" ? std::max(*a, *b) : std::min(*a, *b);
  bool overflow = op == "add"   ? __builtin_add_overflow(*a, *b, &result)
                  : op == "sub" ? __builtin_sub_overflow(*a, *b, &result)
                  : op == "mul" ? __builtin_mul_overflow(*a, *b, &result)
                                : *b == 0 || *b == -1;
  if (op == "div" && !overflow) result = *a / *b;
  return overflow ? MaybeInt() : result;
}

MaybeInts combined(std::string_view op, const MaybeInts& x, const MaybeInts& y, std::size_t count) {
  MaybeInts values(count);
  bool fits = (x.size() == count || x.size() == 1) && (y.size() == count || y.size() == 1);
  for (std::size_t i = 0; fits && i < count; ++i)
    values[i] = combine(op, x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
  return values;
}

// Scale and bias that are small whole numbers, so that the arithmetic is exact.
MaybeInts scaled(const Node& node, const MaybeInts& x) {
  auto whole = [&](std::string_view name) -> MaybeInt {
    double value = attr<double>(node, name);
    bool fits =
        value >= -1e9 && value <= 1e9 && value == static_cast<double>(static_cast<std::int64_t>(value));
    return fits ? MaybeInt(static_cast<std::int64_t>(value)) : MaybeInt();
  };
  bool bias_after_scale = attr<bool>(node, "bias_after_scale");
  MaybeInts values;
  for (MaybeInt element : x) {
    values.push_back(bias_after_scale
                         ? combine("add", combine("mul", element, whole("scale")), whole("bias"))
                         : combine("mul", combine("add", element, whole("bias")), whole("scale")));
  }
  return values;
}

MaybeInts filled(const Node& node, ops::Inputs inputs, std::span<const MaybeInts* const> values,
                 std::size_t count) {
  if (ops::input_at(inputs, 1)) return MaybeInts(count, values[1] ? values[1]->front() : MaybeInt());
  Tensor value = Tensor::scalar(attr<double>(node, "value")).cast(DType::kInt64);
  return MaybeInts(count, value.data<std::int64_t>()[0]);
}

// The elements of a vector that indices name; those out of range are left to the run to refuse.
MaybeInts picked(const MaybeInts& x, const MaybeInts& indices) {
  auto size = static_cast<std::int64_t>(x.size());
  MaybeInts values;
  for (MaybeInt index : indices) {
    bool fits = index && *index >= -size && *index < size;
    values.push_back(fits ? x[static_cast<std::size_t>(*index < 0 ? *index + size : *index)] : MaybeInt());
  }
  return values;
}

MaybeInts joined(std::span<const MaybeInts* const> values, ops::Inputs parts) {
  MaybeInts all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (values[i])
      all.insert(all.end(), values[i]->begin(), values[i]->end());
    else
      all.resize(all.size() + static_cast<std::size_t>(parts[i]->shape[0]));
  }
  return all;
}

}  // namespace

std::optional<MaybeInts> shape_values(const Node& node, ops::Inputs inputs,
                                      std::span<const MaybeInts* const> values, const ValueInfo& output) {
  bool integers = output.dtype == DType::kInt32 || output.dtype == DType::kInt64;
  if (!integers || output.shape.size() > 1) return std::nullopt;
  std::int64_t size = ops::product(output.shape);
  if (size == kUnknown || size > kMaxValues) return std::nullopt;
  auto count = static_cast<std::size_t>(size);
  std::string_view op = node.op;

  MaybeInts result;
  if (op == "shape") {
    result = of_shape(inputs[0]->shape);
  } else if (op == "full") {
    result = filled(node, inputs, values, count);
  } else if (op == "concat") {
    result = joined(values.subspan(1), inputs.subspan(1));
  } else if (!values[0]) {
    return std::nullopt;
  } else if (op == "slice") {
    result = sliced(node, inputs, *values[0], count);
  } else if (op == "scale" && !ops::input_at(inputs, 1)) {
    result = scaled(node, *values[0]);
  } else if (op == "gather") {
    if (!values[1] || inputs[0]->shape.size() != 1) return std::nullopt;
    result = picked(*values[0], *values[1]);
  } else if (op == "add" || op == "sub" || op == "mul" || op == "div" || op == "max" || op == "min") {
    if (!values[1]) return std::nullopt;
    result = combined(op, *values[0], *values[1], count);
  } else if (OpKind kind = spec_of(node).kind; kind == OpKind::kView || kind == OpKind::kCast) {
    result = *values[0];
  } else {
    return std::nullopt;
  }
  check(result.size() == count, "shape values agree with the shape of their tensor");
  if (output.dtype == DType::kInt32) {
    constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min(),
                           kHigh = std::numeric_limits<std::int32_t>::max();
    for (MaybeInt& value : result)
      if (value && (*value < kLow || *value > kHigh)) value.reset();
  }
  return result;
}

std::optional<Tensor> known_tensor(const MaybeInts& values, const ValueInfo& info) {
  std::vector<std::int64_t> known;
  for (MaybeInt value : values) {
    if (!value) return std::nullopt;
    known.push_back(*value);
  }
  return Tensor::of(info.shape, known).cast(info.dtype);
}

}  // namespace octet
