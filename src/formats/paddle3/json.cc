#include "formats/paddle3/json.h"

#include <charconv>

#include "base/error.h"

namespace octet::paddle3 {

namespace {

constexpr std::size_t kMaxDepth = 128;  // a program has 12, and each block within a block 7 more

bool is_number_char(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[more] | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::deque<std::string>& kept) : text_(text), kept_(kept) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

void JsonReader::bad(std::string_view what) const {
  if (at_ >= text_.size()) fail("it is cut off at byte {}; copy the file again", text_.size());
  fail("byte {}: {}", at_, what);
}

void JsonReader::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

char JsonReader::peek() {
  skip_space();
  if (at_ >= text_.size()) bad("");
  const char c = text_[at_];
  if ((c >= '0' && c <= '9') || c == '-') return '0';
  if (c != '{' && c != '[' && c != '"' && c != 't' && c != 'f' && c != 'n') bad("no JSON value");
  return c;
}

void JsonReader::open(char bracket) {
  if (peek() != bracket) bad(bracket == '{' ? "an object is expected" : "a list is expected");
  if (levels_.size() == kMaxDepth) bad(fmt::format("it is nested more than {} deep", kMaxDepth));
  ++at_;
  levels_.push_back({bracket == '{' ? '}' : ']'});
}

// Goes past the comma to the next element, or past the bracket that closes.
bool JsonReader::next(char close) {
  check(!levels_.empty() && levels_.back().close == close, "what is open in a JSON text is closed");
  skip_space();
  if (at_ >= text_.size()) bad("");
  if (text_[at_] == close) {
    ++at_;
    levels_.pop_back();
    return false;
  }
  if (!levels_.back().is_empty) {
    if (text_[at_] != ',') bad("a comma is expected");
    ++at_;
  }
  levels_.back().is_empty = false;
  return true;
}

bool JsonReader::next_item() {
  return next(']');
}

bool JsonReader::next_member(std::string_view* key) {
  if (!next('}')) return false;
  *key = string();
  skip_space();
  if (at_ >= text_.size() || text_[at_] != ':') bad("a colon is expected");
  ++at_;
  return true;
}

std::string_view JsonReader::string() {
  if (peek() != '"') bad("a text is expected");
  const std::size_t begin = ++at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') return text_.substr(begin, at_++ - begin);
    if (c == '\\') return unescape(begin);
    if (static_cast<unsigned char>(c) < ' ') bad("a text with a control character in it");
  }
  bad("");
}

// The rest of a text in which the first backslash is at at_.
std::string_view JsonReader::unescape(std::size_t begin) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  std::string out(text_.substr(begin, at_ - begin));
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return kept_.emplace_back(std::move(out));
    }
    if (static_cast<unsigned char>(c) < ' ') bad("a text with a control character in it");
    if (c != '\\') {
      out += c;
      continue;
    }
    if (++at_ >= text_.size()) bad("");
    if (const std::size_t i = kEscapes.find(text_[at_]); i != std::string_view::npos) {
      out += kMeanings[i];
    } else if (text_[at_] == 'u') {
      std::uint32_t code = hex4();
      if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
        at_ += 2;
        const std::uint32_t low = hex4();
        if (low < 0xdc00 || low > 0xdfff) bad("half a character");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else if (code >= 0xd800 && code <= 0xdfff) {
        bad("half a character");
      }
      append_utf8(out, code);
    } else {
      bad("no escape that JSON knows");
    }
  }
  bad("");
}

// Four digits behind at_, which is then on the last of them.
std::uint32_t JsonReader::hex4() {
  std::uint32_t code = 0;
  const std::string_view digits = text_.substr(at_ + 1, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) bad("no code of a character");
  at_ += 4;
  return code;
}

JsonNumber JsonReader::number() {
  if (peek() != '0') bad("a number is expected");
  std::size_t end = at_;
  while (end < text_.size() && is_number_char(text_[end])) ++end;
  const char *first = text_.data() + at_, *last = text_.data() + end;
  JsonNumber number;
  auto [integer_end, integer_error] = std::from_chars(first, last, number.integer);
  number.is_integer = integer_error == std::errc() && integer_end == last;
  auto [real_end, real_error] = std::from_chars(first, last, number.real);
  if (real_end != last || (real_error != std::errc() && real_error != std::errc::result_out_of_range))
    bad("no number");
  if (real_error != std::errc()) bad("a number that is too large");
  at_ = end;
  return number;
}

void JsonReader::literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) bad("no JSON value");
  at_ += word.size();
}

bool JsonReader::boolean() {
  const char c = peek();
  if (c != 't' && c != 'f') bad("true or false is expected");
  literal(c == 't' ? "true" : "false");
  return c == 't';
}

void JsonReader::skip() {
  const std::size_t depth = levels_.size();
  std::string_view key;
  do {
    switch (const char c = peek()) {
      case '{':
      case '[':
        open(c);
        break;
      case '"':
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        if (at_ >= text_.size()) bad("");
        ++at_;
        break;
      case '0':
        number();
        break;
      case 'n':
        literal("null");
        break;
      default:
        boolean();
    }
    // On to the next value, out of what ends here.
    while (levels_.size() > depth && !(levels_.back().close == '}' ? next_member(&key) : next_item())) {
    }
  } while (levels_.size() > depth);
}

void JsonReader::end() {
  skip_space();
  if (at_ < text_.size()) bad("something follows the end of the program");
}

std::string json_real(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < ' ')
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out += '"';
}

}  // namespace octet::paddle3
