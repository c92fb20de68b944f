#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octet/dtype.h"

namespace octet {

bool parse_dtype(std::string_view name, DType* dtype);  // false when there is no dtype of that name

// Dimensions, outermost first. kUnknown stands for a dimension that only a run decides.
using Shape = std::vector<std::int64_t>;
constexpr std::int64_t kUnknown = -1;

std::string to_string(const Shape& shape);  // "1x3x224x224", "?x3x224x224", "scalar"
bool is_known(const Shape& shape);          // no kUnknown in it
// The product; an Error when a dimension is negative or the product needs more than 2^46 elements.
std::int64_t element_count(const Shape& shape);

// An n-dimensional array in row-major order. Copies share the memory. A tensor is writable by whoever made it
// with Tensor(dtype, shape) and has not handed it out yet; views of a file are never writable.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);  // 64-byte aligned, not initialised
  // Looks at `data`, kept alive by `owner`. The data may have any alignment.
  static Tensor view(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner);
  // The same, to be written to: a piece of memory that someone else has planned.
  static Tensor over(DType dtype, Shape shape, std::byte* data, std::shared_ptr<const void> owner);
  // A shape without data; empty().
  static Tensor shape_only(DType dtype, Shape shape);
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values);
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  bool empty() const { return data_ == nullptr; }  // default-constructed: holds nothing
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[static_cast<std::size_t>(i < 0 ? i + rank() : i)]; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t size() const { return size_; }
  std::size_t size_bytes() const { return static_cast<std::size_t>(size_) * size_of(dtype_); }

  std::span<const std::byte> bytes() const { return {data_, size_bytes()}; }
  std::span<std::byte> mutable_bytes() {
    check(writable_, "a view of a file is not writable");
    return {const_cast<std::byte*>(data_), size_bytes()};
  }
  template <class T>
  std::span<const T> data() const {
    check(dtype_ == DTypeOf<T>::value, "a tensor is read as another dtype than it has");
    check(reinterpret_cast<std::uintptr_t>(data_) % alignof(T) == 0,
          "a misaligned tensor is read; use aligned()");
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<T> mutable_data() {
    check(writable_, "a view of a file is not writable");
    auto span = data<T>();
    return {const_cast<T*>(span.data()), span.size()};
  }

  bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(data_) % 8 == 0; }
  Tensor aligned() const;              // itself, or a copy when the data is misaligned for its dtype
  Tensor clone() const;                // a writable copy
  Tensor reshaped(Shape shape) const;  // the same memory under another shape of equal size
  Tensor cast(DType dtype) const;      // element by element, as static_cast does; bool is x != 0

 private:
  DType dtype_ = DType::kFloat32;
  bool writable_ = false;
  Shape shape_;
  std::int64_t size_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <class T>
Tensor Tensor::of(Shape shape, const std::vector<T>& values) {
  Tensor tensor(DTypeOf<T>::value, std::move(shape));
  check(tensor.size() == static_cast<std::int64_t>(values.size()),
        "Tensor::of needs one value for each element");
  auto out = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return tensor;
}

// The elements of a small integer tensor (int32, int64 or an integral float) as int64.
std::vector<std::int64_t> to_int64s(const Tensor& tensor);

// IEEE half and bfloat16, for files that hold them.
float half_to_float(std::uint16_t bits);
float bfloat16_to_float(std::uint16_t bits);

}  // namespace octet
