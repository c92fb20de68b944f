#include "cli/tensors.h"

#include <fmt/format.h>

#include "base/error.h"

namespace octet::cli {

namespace {

// Calls use(T()) for the C++ type of `dtype`. The half-precision ones have none.
template <class Use>
void with_type(DType dtype, const std::string& name, Use use) {
  switch (dtype) {
    case DType::kBool:
      return use(bool());
    case DType::kInt8:
      return use(std::int8_t());
    case DType::kUInt8:
      return use(std::uint8_t());
    case DType::kInt16:
      return use(std::int16_t());
    case DType::kInt32:
      return use(std::int32_t());
    case DType::kInt64:
      return use(std::int64_t());
    case DType::kFloat32:
      return use(float());
    case DType::kFloat64:
      return use(double());
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
  }
  fail("{}: {} tensors cannot go in or out of a model; use float32", name, name_of(dtype));
}

}  // namespace

void feed(TensorHandle& input, const Tensor& tensor) {
  input.reshape(tensor.shape());
  Tensor aligned = tensor.aligned();
  with_type(tensor.dtype(), input.name(),
            [&](auto zero) { input.copy_from_cpu(aligned.data<decltype(zero)>().data()); });
}

Tensor fetch(const TensorHandle& output) {
  Tensor tensor(output.type(), output.shape());
  with_type(output.type(), output.name(),
            [&](auto zero) { output.copy_to_cpu(tensor.mutable_data<decltype(zero)>().data()); });
  return tensor;
}

std::string describe(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", name_of(dtype), to_string(shape));
}

std::string format_bytes(std::uint64_t bytes) {
  auto size = static_cast<double>(bytes);
  if (size < 1e3) return fmt::format("{} B", bytes);
  if (size < 1e6) return fmt::format("{:.1f} kB", size / 1e3);
  if (size < 1e9) return fmt::format("{:.1f} MB", size / 1e6);
  return fmt::format("{:.1f} GB", size / 1e9);
}

}  // namespace octet::cli
