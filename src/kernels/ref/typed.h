#pragma once
#include "tensor/tensor.h"

namespace octet::ref {

// Calls function.operator()<T>() with the C++ type of a dtype; 16-bit floats, in which nothing computes, have
// none.
template <class Function>
void with_type(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kBool:
      return function.template operator()<bool>();
    case DType::kInt8:
      return function.template operator()<std::int8_t>();
    case DType::kUInt8:
      return function.template operator()<std::uint8_t>();
    case DType::kInt16:
      return function.template operator()<std::int16_t>();
    case DType::kInt32:
      return function.template operator()<std::int32_t>();
    case DType::kInt64:
      return function.template operator()<std::int64_t>();
    case DType::kFloat32:
      return function.template operator()<float>();
    case DType::kFloat64:
      return function.template operator()<double>();
    default:
      check(false, "the op table lets only dtypes through that are computed with");
  }
}

// The same without bool.
template <class Function>
void with_number(DType dtype, const Function& function) {
  with_type(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      check(false, "the op table lets only numbers through");
    else
      function.template operator()<T>();
  });
}

// The same with an unsigned integer of the dtype's size, for ops that move elements without looking at them.
template <class Function>
void with_size(DType dtype, const Function& function) {
  switch (size_of(dtype)) {
    case 1:
      return function.template operator()<std::uint8_t>();
    case 2:
      return function.template operator()<std::uint16_t>();
    case 4:
      return function.template operator()<std::uint32_t>();
    default:
      return function.template operator()<std::uint64_t>();
  }
}

// The elements of any tensor, as those of with_size.
template <class T>
const T* elements(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.bytes().data());
}
template <class T>
T* mutable_elements(Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.mutable_bytes().data());
}

}  // namespace octet::ref
