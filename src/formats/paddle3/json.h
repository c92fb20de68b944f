#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

// JSON, read piece by piece: nothing is built but what the caller keeps. Errors say at which byte.
namespace octet::paddle3 {

struct JsonNumber {
  bool is_integer = false;
  std::int64_t integer = 0;  // when it is one
  double real = 0;           // always
};

//   for (in.begin_object(); in.next_member(&key);) key == "version" ? take(in.number()) : in.skip();
//   for (in.begin_array(); in.next_item();) ids.push_back(in.number().integer);
class JsonReader {
 public:
  // Strings without escapes are views of `text`; the others are kept in `kept`.
  JsonReader(std::string_view text, std::deque<std::string>& kept);

  // What comes next: one of { [ " 0 t f n, where 0 stands for any number.
  char peek();
  void begin_object() { open('{'); }
  bool next_member(std::string_view* key);  // false: the object has ended
  void begin_array() { open('['); }
  bool next_item();  // false: the array has ended

  std::string_view string();
  JsonNumber number();
  bool boolean();
  void skip();  // whatever comes next
  void end();   // nothing may come any more

  std::size_t offset() const { return at_; }  // of what was read last, its end

 private:
  struct Level {
    char close;
    bool is_empty = true;
  };

  [[noreturn]] void bad(std::string_view what) const;
  void skip_space();
  void open(char bracket);
  bool next(char close);
  std::string_view unescape(std::size_t begin);
  std::uint32_t hex4();
  void literal(std::string_view word);

  std::string_view text_;
  std::deque<std::string>& kept_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
};

// As Paddle writes them: the shortest text that reads back the same, recognisable as a float.
std::string json_real(double value);
std::string json_string(std::string_view text);

}  // namespace octet::paddle3
