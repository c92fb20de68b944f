#pragma once
#include <array>

#include "tensor/tensor.h"

namespace octet::ref {

// How many elements apart neighbours along each dimension are.
inline Shape strides_of(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  return strides;
}

// The same for an operand that is broadcast: 0 along its dimensions of 1.
inline Shape broadcast_strides(const Shape& shape) {
  Shape strides = strides_of(shape);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1) strides[i] = 0;
  return strides;
}

// Where element number `index` (row-major) of the first `rank` dimensions lies, with these strides.
inline std::int64_t offset_of(std::int64_t index, const Shape& dims, const Shape& strides, std::size_t rank) {
  std::int64_t offset = 0;
  for (std::size_t i = rank; i-- > 0; index /= dims[i]) offset += index % dims[i] * strides[i];
  return offset;
}

// visit(i, offsets) for elements begin .. end - 1 (row-major) of a tensor with `dims`; offsets[k] is where
// element i lies with strides[k].
template <std::size_t N, class Visit>
void walk(const Shape& dims, const std::array<Shape, N>& strides, std::int64_t begin, std::int64_t end,
          const Visit& visit) {
  std::array<std::int64_t, N> offsets{};
  Shape at(dims.size());
  std::int64_t rest = begin;
  for (std::size_t d = dims.size(); begin < end && d-- > 0; rest /= dims[d]) {
    at[d] = rest % dims[d];
    for (std::size_t k = 0; k < N; ++k) offsets[k] += at[d] * strides[k][d];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    visit(i, offsets);
    for (std::size_t d = dims.size(); d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
      if (++at[d] < dims[d]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= dims[d] * strides[k][d];
      at[d] = 0;
    }
  }
}

// The product of dims [begin, end) of a shape that is known and was checked.
inline std::int64_t count_of(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= shape[i];
  return count;
}

// A tensor seen along one axis: `outer` blocks of `size` steps, `inner` elements apart.
struct AxisView {
  std::int64_t outer, size, inner;
};
inline AxisView along(const Shape& shape, std::int64_t axis) {
  auto at = static_cast<std::size_t>(axis);
  return {count_of(shape, 0, at), shape[at], count_of(shape, at + 1, shape.size())};
}

}  // namespace octet::ref
