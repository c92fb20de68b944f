#include "train/convert.h"

#include <cstring>

namespace octet::train {

namespace {

struct Pair {
  DType dtype;
  at::ScalarType type;
};
constexpr Pair kTypes[] = {
    {DType::kBool, at::kBool},      {DType::kInt8, at::kChar},         {DType::kUInt8, at::kByte},
    {DType::kInt16, at::kShort},    {DType::kInt32, at::kInt},         {DType::kInt64, at::kLong},
    {DType::kFloat16, at::kHalf},   {DType::kBFloat16, at::kBFloat16}, {DType::kFloat32, at::kFloat},
    {DType::kFloat64, at::kDouble},
};

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  for (const Pair& pair : kTypes)
    if (pair.dtype == dtype) return pair.type;
  fail("libtorch has no {} tensors", name_of(dtype));
}

DType dtype_of(at::ScalarType type) {
  for (const Pair& pair : kTypes)
    if (pair.type == type) return pair.dtype;
  fail("octet has no {} tensors", c10::toString(type));
}

at::Tensor view_in_torch(const Tensor& tensor) {
  auto keep = std::make_shared<Tensor>(tensor.aligned());
  void* data = const_cast<std::byte*>(keep->bytes().data());
  return at::from_blob(
      data, tensor.shape(), [keep](void*) {}, scalar_type(tensor.dtype()));
}

at::Tensor to_torch(const Tensor& tensor) {
  return view_in_torch(tensor).clone();
}

Tensor from_torch(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  Tensor copy(dtype_of(plain.scalar_type()), plain.sizes().vec());
  if (copy.size() > 0) std::memcpy(copy.mutable_bytes().data(), plain.const_data_ptr(), copy.size_bytes());
  return copy;
}

}  // namespace octet::train
