#include "formats/paddle/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/paddle_common/tensor_desc.h"

namespace octet::paddle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Program, AttributesOfEveryTypeComeBack) {
  std::string op =
      write_op({"op",
                {{"X", {"a", "b"}}},
                {{"Out", {"c"}}},
                {{"int", AttrType::kInt, std::int64_t{-3}},
                 {"float", AttrType::kFloat, 0.5},
                 {"string", AttrType::kString, "text"},
                 {"ints", AttrType::kInts, std::vector<std::int64_t>{1, -2}},
                 {"floats", AttrType::kFloats, std::vector<double>{0.25, -1}},
                 {"bool", AttrType::kBoolean, std::int64_t{1}},
                 {"long", AttrType::kLong, std::int64_t{1} << 40},
                 {"longs", AttrType::kLongs, std::vector<std::int64_t>{-1, std::int64_t{1} << 40}}}});
  std::string bytes = write_program({}, {op}, nullptr);
  Program program = parse_program(bytes);
  ASSERT_EQ(program.ops.size(), 1u);
  const OpDesc& read = program.ops[0];
  auto value = [&](const char* name) { return read.find_attr(name)->value; };
  EXPECT_EQ(read.type, "op");
  EXPECT_THAT(read.input("X"), ElementsAre("a", "b"));
  EXPECT_THAT(read.output("Out"), ElementsAre("c"));
  EXPECT_TRUE(read.input("Y").empty());
  EXPECT_EQ(std::get<std::int64_t>(value("int")), -3);
  EXPECT_EQ(std::get<double>(value("float")), 0.5);
  EXPECT_EQ(std::get<std::string_view>(value("string")), "text");
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(value("ints")), ElementsAre(1, -2));
  EXPECT_THAT(std::get<std::vector<double>>(value("floats")), ElementsAre(0.25, -1));
  EXPECT_EQ(std::get<std::int64_t>(value("bool")), 1);
  EXPECT_EQ(std::get<std::int64_t>(value("long")), std::int64_t{1} << 40);
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(value("longs")), ElementsAre(-1, std::int64_t{1} << 40));
}

TEST(Program, PackedNumbersAreReadToo) {
  // TensorDesc {data_type: FP32, dims: packed [2, 3]}
  TensorDesc desc = parse_tensor_desc(std::string_view("\x08\x05\x12\x02\x02\x03", 6));
  EXPECT_EQ(desc.data_type, 5);
  EXPECT_EQ(desc.shape, (Shape{2, 3}));
  EXPECT_EQ(write_tensor_desc({5, {16}}), std::string("\x08\x05\x10\x10", 4));
}

TEST(Program, UnknownFieldsAreKept) {
  std::string bytes = write_program({write_var("x", kDenseTensor, 5, {1}, true)}, {}, nullptr);
  bytes += std::string("\xa2\x06\x02hi", 5);  // field 100, a string
  Program program = parse_program(bytes);
  std::string again = write_program({program.vars[0].bytes}, {}, &program);
  EXPECT_NE(again.find("\x02hi"), std::string::npos);
  Program second = parse_program(again);
  EXPECT_EQ(second.program_rest, program.program_rest);
  EXPECT_EQ(second.block_rest, program.block_rest);
  EXPECT_TRUE(second.vars[0].is_parameter());
}

TEST(Program, EveryDTypeHasACode) {
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    DType back;
    ASSERT_TRUE(dtype_from_code(code_of(static_cast<DType>(i)), &back));
    EXPECT_EQ(back, static_cast<DType>(i));
  }
  DType none;
  EXPECT_FALSE(dtype_from_code(23, &none));
}

std::string error_of(const std::string& op) {
  std::string bytes = write_program({}, {op}, nullptr);
  try {
    parse_program(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "no error";
}

// Found by fuzz/pdmodel_fuzz.cc: protozero only asserts this, and without asserts reads on in the middle of a
// field.
TEST(Program, AFieldOfTheWrongTypeIsAnError) {
  EXPECT_EQ(error_of("\x1a\x04relu"), "no error");                            // the op's type as text
  EXPECT_THAT(error_of("\x18\x04"), HasSubstr("it is damaged"));              // as a number
  EXPECT_THAT(error_of("\x0d\x01\x02\x03\x04"), HasSubstr("it is damaged"));  // its inputs as a float
}

TEST(Program, ANameWithALineBreakIsAnError) {
  EXPECT_THAT(error_of("\x1a\x05re\nlu"), HasSubstr("control characters"));
  EXPECT_THAT(error_of(write_op({"relu", {{"X", {"\x1b[2J"}}}, {}, {}})), HasSubstr("control characters"));
  EXPECT_EQ(error_of(write_op({"relu", {{"X", {"gr\u00f6\u00dfe"}}}, {}, {}})), "no error");
}

}  // namespace
}  // namespace octet::paddle
