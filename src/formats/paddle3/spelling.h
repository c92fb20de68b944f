#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/paddle3/program.h"
#include "tensor/tensor.h"

// How a program's parts are spelt in JSON.
namespace octet::paddle3 {

bool dtype_of_tag(std::string_view tag, DType* dtype);  // "0.t_f32"; false: one that octet has no use for

// The type of an attribute. Paddle compares it with the op's definition, down to the number of bits.
enum class Tag {
  kBool,
  kInt32,
  kInt64,
  kFloat32,
  kFloat64,
  kText,
  kInt32s,
  kInt64s,
  kFloat32s,
  kFloat64s,
  kIntArray,
  kDType,  // a text: "float32"
  kPlace,  // where a constant is made; always the same
};

using NewValue =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

struct NewAttr {
  NewAttr(std::string_view name, Tag tag, NewValue value = {});

  std::string_view name;
  Tag tag;
  NewValue value;
};

struct NewResult {
  Id id;
  std::string type;  // of type_text, or list_text
};

std::string type_text(DType dtype, const Shape& dims);
std::string list_text(const std::vector<std::string>& types);

std::string op_text(std::string_view name, const std::vector<Id>& inputs, const std::vector<NewAttr>& attrs,
                    const std::vector<NewResult>& outputs);
std::string parameter_text(std::string_view name, Id id, DType dtype, const Shape& dims);

// A program around the texts of its ops; `original` gives the rest of the file, if there is one.
std::string program_text(const std::vector<std::string>& ops, const Program* original);
constexpr std::int64_t kWrittenVersion = 1;  // which Paddle 3.0 and all later ones read

}  // namespace octet::paddle3
