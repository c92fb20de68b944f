#include "tensor/tensor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "base/memory.h"

namespace octet {

namespace {

struct DTypeRow {
  std::string_view name;
  std::size_t size;
};
// In the order of DType.
constexpr std::array<DTypeRow, 10> kDTypes = {{{"bool", 1},
                                               {"int8", 1},
                                               {"uint8", 1},
                                               {"int16", 2},
                                               {"int32", 4},
                                               {"int64", 8},
                                               {"float16", 2},
                                               {"bfloat16", 2},
                                               {"float32", 4},
                                               {"float64", 8}}};

constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

}  // namespace

std::size_t size_of(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].name;
}

bool parse_dtype(std::string_view name, DType* dtype) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name != name) continue;
    *dtype = static_cast<DType>(i);
    return true;
  }
  return false;
}

std::string to_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim == kUnknown ? "?" : std::to_string(dim);
  }
  return text;
}

bool is_known(const Shape& shape) {
  for (std::int64_t dim : shape)
    if (dim < 0) return false;
  return true;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t dim : shape) {
    if (dim < 0) fail("shape {}: a dimension is negative", to_string(shape));
    if (dim == 0) return 0;
    if (count > kMaxElements / dim) overflow = true;
    if (!overflow) count *= dim;
  }
  if (overflow) fail("shape {}: too many elements", to_string(shape));
  return count;
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), writable_(true), shape_(std::move(shape)) {
  size_ = element_count(shape_);
  constexpr std::align_val_t kAlign{64};
  void* memory = ::operator new(std::max<std::size_t>(size_bytes(), 1), kAlign, std::nothrow);
  if (!memory)
    fail_for_memory(fmt::format("a {} tensor of shape {} needs {} bytes", name_of(dtype_), to_string(shape_),
                                size_bytes()));
  data_ = static_cast<const std::byte*>(memory);
  owner_ = std::shared_ptr<const void>(
      memory, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
}

Tensor Tensor::view(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner) {
  static constexpr std::byte kNothing{};
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.size_ = element_count(tensor.shape_);
  tensor.data_ = data ? data : &kNothing;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::over(DType dtype, Shape shape, std::byte* data, std::shared_ptr<const void> owner) {
  Tensor tensor = view(dtype, std::move(shape), data, std::move(owner));
  tensor.writable_ = true;
  return tensor;
}

Tensor Tensor::shape_only(DType dtype, Shape shape) {
  Tensor tensor = view(dtype, std::move(shape), nullptr, nullptr);
  tensor.data_ = nullptr;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  if (size_ > 0) std::memcpy(copy.mutable_bytes().data(), data_, size_bytes());
  return copy;
}

Tensor Tensor::aligned() const {
  return reinterpret_cast<std::uintptr_t>(data_) % size_of(dtype_) == 0 ? *this : clone();
}

Tensor Tensor::reshaped(Shape shape) const {
  check(element_count(shape) == size_, "reshaped() keeps the number of elements");
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

float half_to_float(std::uint16_t bits) {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  int exponent = (bits >> 10) & 31;
  std::uint32_t fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(fraction | 1024), exponent - 25);
  return sign ? -value : value;
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

namespace {

// The nearest half float, half to even; beyond the largest there is infinity.
std::uint16_t float_to_half(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // from 65520 on
  if (magnitude < 0x38800000) {
    // Below 2^-14 they are multiples of 2^-24; adding 0.5 leaves their number in the low bits, rounded.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
  }
  std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

std::uint16_t float_to_bfloat16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class From, class To>
void cast_elements(const Tensor& from, Tensor& to) {
  auto in = from.data<From>();
  auto out = to.mutable_data<To>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if constexpr (std::is_same_v<To, bool>) {
      out[i] = in[i] != From(0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      // static_cast of a value that does not fit is undefined; saturate, and NaN becomes 0.
      constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
      constexpr double kHigh = static_cast<double>(std::numeric_limits<To>::max());
      double value = static_cast<double>(in[i]);
      out[i] = std::isnan(value) ? To(0)
               : value <= kLow   ? std::numeric_limits<To>::min()
               : value >= kHigh  ? std::numeric_limits<To>::max()
                                 : static_cast<To>(value);
    } else {
      out[i] = static_cast<To>(in[i]);
    }
  }
}

template <class From>
void cast_from(const Tensor& from, Tensor& to) {
  switch (to.dtype()) {
    case DType::kBool:
      return cast_elements<From, bool>(from, to);
    case DType::kInt8:
      return cast_elements<From, std::int8_t>(from, to);
    case DType::kUInt8:
      return cast_elements<From, std::uint8_t>(from, to);
    case DType::kInt16:
      return cast_elements<From, std::int16_t>(from, to);
    case DType::kInt32:
      return cast_elements<From, std::int32_t>(from, to);
    case DType::kInt64:
      return cast_elements<From, std::int64_t>(from, to);
    case DType::kFloat32:
      return cast_elements<From, float>(from, to);
    case DType::kFloat64:
      return cast_elements<From, double>(from, to);
    default:
      check(false, "cast() has handled the 16-bit floats");
  }
}

Tensor narrowed(const Tensor& from, DType dtype) {
  Tensor narrow(dtype, from.shape());
  auto in = from.data<float>();
  auto* bits = reinterpret_cast<std::uint16_t*>(narrow.mutable_bytes().data());
  for (std::size_t i = 0; i < in.size(); ++i)
    bits[i] = dtype == DType::kFloat16 ? float_to_half(in[i]) : float_to_bfloat16(in[i]);
  return narrow;
}

// float16 and bfloat16 have no C++ type here: widen them to float32 first.
Tensor widened(const Tensor& from) {
  Tensor aligned = from.aligned();
  if (from.dtype() != DType::kFloat16 && from.dtype() != DType::kBFloat16) return aligned;
  Tensor wide(DType::kFloat32, from.shape());
  auto out = wide.mutable_data<float>();
  const auto* bits = reinterpret_cast<const std::uint16_t*>(aligned.bytes().data());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = from.dtype() == DType::kFloat16 ? half_to_float(bits[i]) : bfloat16_to_float(bits[i]);
  return wide;
}

}  // namespace

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return aligned();
  Tensor from = widened(*this);
  if (dtype == from.dtype()) return from;
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16)
    return narrowed(from.cast(DType::kFloat32), dtype);
  Tensor to(dtype, shape_);
  switch (from.dtype()) {
    case DType::kBool:
      cast_from<bool>(from, to);
      break;
    case DType::kInt8:
      cast_from<std::int8_t>(from, to);
      break;
    case DType::kUInt8:
      cast_from<std::uint8_t>(from, to);
      break;
    case DType::kInt16:
      cast_from<std::int16_t>(from, to);
      break;
    case DType::kInt32:
      cast_from<std::int32_t>(from, to);
      break;
    case DType::kInt64:
      cast_from<std::int64_t>(from, to);
      break;
    case DType::kFloat32:
      cast_from<float>(from, to);
      break;
    case DType::kFloat64:
      cast_from<double>(from, to);
      break;
    default:
      check(false, "widened() leaves no half types");
  }
  return to;
}

std::vector<std::int64_t> to_int64s(const Tensor& tensor) {
  Tensor wide = tensor.cast(DType::kInt64);
  auto values = wide.data<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace octet
