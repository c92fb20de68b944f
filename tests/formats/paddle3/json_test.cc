#include "formats/paddle3/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/graph_runner.h"

namespace octet::paddle3 {
namespace {

using octet::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Reading {
  explicit Reading(std::string text) : text(std::move(text)), in(this->text, kept) {}
  std::string text;
  std::deque<std::string> kept;
  JsonReader in;
};

std::string string_in(const std::string& text) {
  Reading reading(text);
  std::string result(reading.in.string());
  reading.in.end();
  return result;
}

JsonNumber number_in(const std::string& text) {
  Reading reading(text);
  const JsonNumber result = reading.in.number();
  reading.in.end();
  return result;
}

std::string error_in(const std::string& text) {
  return error_of([&] {
    Reading reading(text);
    reading.in.skip();
    reading.in.end();
  });
}

TEST(Json, ReadsObjectsAndLists) {
  Reading reading("\xef\xbb\xbf {\"a\" : [1, 2,3] ,\n\"b\":{ }, \"c\":[], \"d\":true, \"e\":null}");
  JsonReader& in = reading.in;
  std::string_view key;
  std::vector<std::string> keys;
  std::vector<std::int64_t> numbers;
  for (in.begin_object(); in.next_member(&key);) {
    keys.emplace_back(key);
    if (key == "a") {
      for (in.begin_array(); in.next_item();) numbers.push_back(in.number().integer);
    } else if (key == "d") {
      EXPECT_TRUE(in.boolean());
    } else {
      in.skip();
    }
  }
  in.end();
  EXPECT_THAT(keys, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
}

TEST(Json, ReadsTexts) {
  EXPECT_EQ(string_in(R"("plain")"), "plain");
  EXPECT_EQ(string_in(R"("a\"b\\c\/d\n\t\u0041")"), "a\"b\\c/d\n\tA");
  EXPECT_EQ(string_in(R"("\u00e9\u4e2d\ud83d\ude00")"), "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
  EXPECT_EQ(string_in("\"\xe4\xb8\xad\""), "\xe4\xb8\xad");
}

TEST(Json, ReadsNumbers) {
  EXPECT_TRUE(number_in("-12").is_integer);
  EXPECT_EQ(number_in("-12").integer, -12);
  EXPECT_EQ(number_in("9223372036854775807").integer, std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(number_in("9223372036854775808").is_integer);
  EXPECT_FALSE(number_in("1.0").is_integer);
  EXPECT_EQ(number_in("3.4028234663852886e+38").real, std::numeric_limits<float>::max());
  EXPECT_EQ(number_in("0.0010000000474974513").real, static_cast<double>(0.001f));
}

TEST(Json, SaysWhereItIsBroken) {
  EXPECT_EQ(error_in("[1,2"), "it is cut off at byte 4; copy the file again");
  EXPECT_EQ(error_in("[1 2]"), "byte 3: a comma is expected");
  EXPECT_EQ(error_in("{\"a\" 1}"), "byte 5: a colon is expected");
  EXPECT_EQ(error_in("{1:2}"), "byte 1: a text is expected");
  EXPECT_EQ(error_in("[1] 2"), "byte 4: something follows the end of the program");
  EXPECT_EQ(error_in("[1e999]"), "byte 1: a number that is too large");
  EXPECT_EQ(error_in("[nul]"), "byte 1: no JSON value");
  EXPECT_EQ(error_in("[1-2]"), "byte 1: no number");
  for (const char* text : {"\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "\"a"})
    EXPECT_NE(error_of([&] { string_in(text); }), "") << text;
}

TEST(Json, BoundsTheDepth) {
  EXPECT_THAT(error_in(std::string(1000000, '[')), HasSubstr("nested more than 128 deep"));
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  EXPECT_THAT(error_in(objects), HasSubstr("nested more than 128 deep"));
  EXPECT_EQ(error_in(std::string(100, '[') + std::string(100, ']')), "");
}

// The texts that Paddle writes.
TEST(Json, WritesTextsAndNumbers) {
  EXPECT_EQ(json_real(1), "1.0");
  EXPECT_EQ(json_real(static_cast<double>(0.001f)), "0.0010000000474974513");
  EXPECT_EQ(json_real(-2147483647), "-2147483647.0");
  EXPECT_EQ(number_in(json_real(3.4028234663852886e+38)).real, 3.4028234663852886e+38);
  EXPECT_EQ(json_string("a\"b\\c\x01"), "\"a\\\"b\\\\c\\u0001\"");
  EXPECT_EQ(string_in(json_string("a\"b\\c\x01/\xe4\xb8\xad")), "a\"b\\c\x01/\xe4\xb8\xad");
}

}  // namespace
}  // namespace octet::paddle3
