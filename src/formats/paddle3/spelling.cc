#include "formats/paddle3/spelling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "formats/paddle3/json.h"

namespace octet::paddle3 {

namespace {

struct DTypeTag {
  DType dtype;
  std::string_view tag;
};
constexpr DTypeTag kDTypeTags[] = {
    {DType::kBool, "0.t_bool"},   {DType::kUInt8, "0.t_ui8"},     {DType::kInt8, "0.t_i8"},
    {DType::kInt16, "0.t_i16"},   {DType::kInt32, "0.t_i32"},     {DType::kInt64, "0.t_i64"},
    {DType::kFloat16, "0.t_f16"}, {DType::kBFloat16, "0.t_bf16"}, {DType::kFloat32, "0.t_f32"},
    {DType::kFloat64, "0.t_f64"},
};

std::string integer_text(std::int64_t value, bool is_32_bit) {
  using Limits = std::numeric_limits<std::int32_t>;
  return fmt::format("{}", is_32_bit ? std::clamp<std::int64_t>(value, Limits::min(), Limits::max()) : value);
}

// {"#":TAG,"D":NUMBER}; what is no number in JSON has another key and a word.
std::string real_text(double value, bool is_32_bit) {
  const std::string_view tag = is_32_bit ? "0.a_f32" : "0.a_f64";
  if (is_32_bit) value = static_cast<double>(static_cast<float>(value));
  if (std::isfinite(value)) return fmt::format(R"({{"#":"{}","D":{}}})", tag, json_real(value));
  return fmt::format(R"({{"#":"{}","VD":"{}"}})", tag,
                     std::isnan(value) ? "NAN"
                     : value > 0       ? "INF"
                                       : "-INF");
}

template <class T, class Text>
std::string array_text(const std::vector<T>& values, Text text) {
  std::string out;
  for (const T& value : values) (out += out.empty() ? "" : ",") += text(value);
  return fmt::format(R"({{"#":"0.a_array","D":[{}]}})", out);
}

std::string value_text(Tag tag, const NewValue& value) {
  const auto tagged = [](std::string_view name, std::string_view data) {
    return fmt::format(R"({{"#":"{}","D":{}}})", name, data);
  };
  const auto integer = [&] { return std::get<std::int64_t>(value); };
  const auto integers = [&](std::string_view item, bool is_32_bit) {
    return array_text(std::get<std::vector<std::int64_t>>(value),
                      [&](std::int64_t i) { return tagged(item, integer_text(i, is_32_bit)); });
  };
  const auto reals = [&](bool is_32_bit) {
    return array_text(std::get<std::vector<double>>(value),
                      [&](double real) { return real_text(real, is_32_bit); });
  };
  switch (tag) {
    case Tag::kBool:
      return tagged("0.a_bool", integer() ? "true" : "false");
    case Tag::kInt32:
      return tagged("0.a_i32", integer_text(integer(), true));
    case Tag::kInt64:
      return tagged("0.a_i64", integer_text(integer(), false));
    case Tag::kFloat32:
      return real_text(std::get<double>(value), true);
    case Tag::kFloat64:
      return real_text(std::get<double>(value), false);
    case Tag::kText:
      return tagged("0.a_str", json_string(std::get<std::string>(value)));
    case Tag::kInt32s:
      return integers("0.a_i32", true);
    case Tag::kInt64s:
      return integers("0.a_i64", false);
    case Tag::kFloat32s:
      return reals(true);
    case Tag::kFloat64s:
      return reals(false);
    case Tag::kIntArray:
      return tagged("1.a_intarray",
                    fmt::format("[{}]", fmt::join(std::get<std::vector<std::int64_t>>(value), ",")));
    case Tag::kDType:
      return tagged("1.a_dtype", json_string(std::get<std::string>(value)));
    case Tag::kPlace:
      return tagged("1.a_place", R"([1,0,""])");
  }
  check(false, "every attribute has a tag");
  return "";
}

}  // namespace

NewAttr::NewAttr(std::string_view name, Tag tag, NewValue value)
    : name(name), tag(tag), value(std::move(value)) {}

bool dtype_of_tag(std::string_view tag, DType* dtype) {
  for (const DTypeTag& row : kDTypeTags) {
    if (row.tag != tag) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

std::string type_text(DType dtype, const Shape& dims) {
  std::string_view tag;
  for (const DTypeTag& row : kDTypeTags)
    if (row.dtype == dtype) tag = row.tag;
  check(!tag.empty(), "every dtype has a tag in Paddle 3's files");
  return fmt::format(R"({{"#":"0.t_dtensor","D":[{{"#":"{}"}},[{}],"NCHW",[],0]}})", tag,
                     fmt::join(dims, ","));
}

std::string list_text(const std::vector<std::string>& types) {
  return fmt::format(R"({{"#":"0.t_vec","D":[{}]}})", fmt::join(types, ","));
}

std::string op_text(std::string_view name, const std::vector<Id>& inputs, const std::vector<NewAttr>& attrs,
                    const std::vector<NewResult>& outputs) {
  std::string a, i, o;
  for (const NewAttr& attr : attrs)
    a += fmt::format(R"({}{{"AT":{},"N":"{}"}})", a.empty() ? "" : ",", value_text(attr.tag, attr.value),
                     attr.name);
  for (const Id id : inputs) i += fmt::format(R"({}{{"%":{}}})", i.empty() ? "" : ",", id);
  for (const NewResult& output : outputs)
    o += fmt::format(R"({}{{"%":{},"TT":{}}})", o.empty() ? "" : ",", output.id, output.type);
  return fmt::format(R"({{"#":"{}","A":[{}],"I":[{}],"O":[{}]}})", name, a, i, o);
}

std::string parameter_text(std::string_view name, Id id, DType dtype, const Shape& dims) {
  return fmt::format(R"({{"#":"p","A":[0,1,1,{}],"DA":[],"O":{{"%":{},"TT":{}}},"OA":[1,0,1],"QA":[]}})",
                     json_string(name), id, type_text(dtype, dims));
}

std::string program_text(const std::vector<std::string>& ops, const Program* original) {
  std::string text = original
                         ? std::string(original->head)
                         : fmt::format(R"({{"base_code":{{"magic":"pir","trainable":true,"version":{}}},)"
                                       R"("program":{{"regions":[{{"#":"region_0","blocks":[)"
                                       R"({{"#":"block_0","args":[],"ops":[)",
                                       kWrittenVersion);
  bool is_first = true;
  for (const std::string& op : ops) {
    if (!is_first) text += ',';
    is_first = false;
    text += op;
  }
  return text += original ? original->tail : std::string_view("]}]}]}}");
}

}  // namespace octet::paddle3
