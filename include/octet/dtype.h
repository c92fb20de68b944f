#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octet {

// clang-format off
enum class DType : std::uint8_t {
  kBool, kInt8, kUInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64
};

std::size_t size_of(DType dtype);       // bytes an element
std::string_view name_of(DType dtype);  // "float32", "int8", ...

template <class T> struct DTypeOf;
template <> struct DTypeOf<bool>          { static constexpr DType value = DType::kBool; };
template <> struct DTypeOf<std::int8_t>   { static constexpr DType value = DType::kInt8; };
template <> struct DTypeOf<std::uint8_t>  { static constexpr DType value = DType::kUInt8; };
template <> struct DTypeOf<std::int16_t>  { static constexpr DType value = DType::kInt16; };
template <> struct DTypeOf<std::int32_t>  { static constexpr DType value = DType::kInt32; };
template <> struct DTypeOf<std::int64_t>  { static constexpr DType value = DType::kInt64; };
template <> struct DTypeOf<float>         { static constexpr DType value = DType::kFloat32; };
template <> struct DTypeOf<double>        { static constexpr DType value = DType::kFloat64; };
// clang-format on

}  // namespace octet
