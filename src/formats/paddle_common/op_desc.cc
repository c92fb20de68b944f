#include "formats/paddle_common/op_desc.h"

namespace octet::paddle {

namespace {

struct DTypeCode {
  DType dtype;
  int code;
};
constexpr DTypeCode kDTypeCodes[] = {
    {DType::kBool, 0},    {DType::kInt16, 1},     {DType::kInt32, 2},   {DType::kInt64, 3},
    {DType::kFloat16, 4}, {DType::kFloat32, 5},   {DType::kFloat64, 6}, {DType::kUInt8, 20},
    {DType::kInt8, 21},   {DType::kBFloat16, 22},
};

const std::vector<std::string_view>& find_slot(const std::vector<Slot>& slots, std::string_view name) {
  static const std::vector<std::string_view> kNone;
  for (const Slot& slot : slots)
    if (slot.name == name) return slot.arguments;
  return kNone;
}

}  // namespace

int code_of(DType dtype) {
  for (const DTypeCode& row : kDTypeCodes)
    if (row.dtype == dtype) return row.code;
  check(false, "every dtype has a Paddle code");
  return -1;
}

bool dtype_from_code(int code, DType* dtype) {
  for (const DTypeCode& row : kDTypeCodes) {
    if (row.code != code) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

const std::vector<std::string_view>& OpDesc::input(std::string_view slot) const {
  return find_slot(inputs, slot);
}

const std::vector<std::string_view>& OpDesc::output(std::string_view slot) const {
  return find_slot(outputs, slot);
}

const AttrDesc* OpDesc::find_attr(std::string_view name) const {
  for (const AttrDesc& attr : attrs)
    if (attr.name == name) return &attr;
  return nullptr;
}

}  // namespace octet::paddle
