// Programs that fuzz/pdmodel_fuzz.cc found, made small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/paddle/program.h"

namespace octet::paddle {
namespace {

using testing::HasSubstr;

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

// protozero only asserts this, and without asserts reads on in the middle of a field.
TEST(HostileProgram, AFieldOfTheWrongTypeIsAnError) {
  EXPECT_EQ(error_of("\x1a\x04relu"), "no error");                            // the op's type as text
  EXPECT_THAT(error_of("\x18\x04"), HasSubstr("it is damaged"));              // as a number
  EXPECT_THAT(error_of("\x0d\x01\x02\x03\x04"), HasSubstr("it is damaged"));  // its inputs as a float
}

TEST(HostileProgram, ANameWithALineBreakIsAnError) {
  EXPECT_THAT(error_of("\x1a\x05re\nlu"), HasSubstr("control characters"));
  EXPECT_THAT(error_of(write_op({"relu", {{"X", {"\x1b[2J"}}}, {}, {}})), HasSubstr("control characters"));
  EXPECT_EQ(error_of(write_op({"relu",
                               {{"X",
                                 {"gr\xc3\xb6\xc3\x9f"
                                  "e"}}},
                               {},
                               {}})),
            "no error");
}

}  // namespace
}  // namespace octet::paddle
