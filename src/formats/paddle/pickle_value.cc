#include <unordered_set>

#include "formats/paddle/pickle_object.h"

namespace octet::pickle {

namespace {

// RFC 3629, but for surrogates: Python keeps single ones, and they do no harm here.
bool is_utf8(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    unsigned char lead = byte(i++);
    if (lead < 0x80) continue;
    int more = lead >= 0xc2 && lead < 0xe0   ? 1
               : lead >= 0xe0 && lead < 0xf0 ? 2
               : lead >= 0xf0 && lead < 0xf5 ? 3
                                             : 0;
    if (more == 0) return false;
    // The first byte after the lead may not make a code that fits into fewer bytes, nor one above 0x10ffff.
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;
    for (; more > 0; --more, ++i, low = 0x80, high = 0xbf)
      if (i >= text.size() || byte(i) < low || byte(i) > high) return false;
  }
  return true;
}

// Every value and every character of the result is counted: a stored value can be used many times, so that a
// small file could ask for a huge result. An honest one makes each value with an opcode of its own, and
// repeats a name once or twice.
class Converter {
 public:
  Converter(std::size_t file_bytes, std::string_view where)
      : where_(where), values_left_(file_bytes), text_left_(8 * file_bytes) {}

  StateValue convert(Ref object, int depth) {
    // This ends cycles, too.
    if (depth > kMaxDepth) fail("{}: this pickle nests collections more than {} deep", where_, kMaxDepth);
    if (values_left_ == 0) fail("{}: this pickle repeats its values over and over", where_);
    --values_left_;
    return std::visit([&](const auto& data) { return StateValue{to_data(data, depth + 1)}; }, object->data);
  }

 private:
  // Numbers and None are what they are.
  template <class T>
  StateValue::Data to_data(const T& value, int) {
    return value;
  }
  StateValue::Data to_data(const Text& value, int) {
    if (!is_utf8(value.text)) fail("{}: this pickle has text that is not UTF-8", where_);
    return copy(value.text);
  }
  StateValue::Data to_data(const Blob& value, int) { return StateBytes{copy(as_text(value.bytes))}; }
  StateValue::Data to_data(const Tuple& value, int depth) {
    return StateTuple{convert_all(value.items, depth)};
  }
  StateValue::Data to_data(const List& value, int depth) {
    return StateList{convert_all(value.items, depth)};
  }
  StateValue::Data to_data(const Dict& value, int depth) {
    StateMap dict;
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < value.items.size(); i += 2) {
      StateValue key = convert(value.items[i], depth);
      if (const Text* name = std::get_if<Text>(&value.items[i]->data);
          name && !names.insert(name->text).second)
        fail("{}: this pickle has two entries named '{}'", where_, printable(name->text));
      dict.entries.push_back({std::move(key), convert(value.items[i + 1], depth)});
    }
    return dict;
  }
  StateValue::Data to_data(const Array& value, int) {
    if (!value.tensor) fail("{}: this pickle has an array without values", where_);
    return *value.tensor;
  }
  StateValue::Data to_data(const Function&, int) {
    fail("{}: this pickle holds a function, not a value", where_);
  }
  StateValue::Data to_data(const NumpyType&, int) {
    fail("{}: this pickle holds a type, not a value", where_);
  }

  std::vector<StateValue> convert_all(const std::vector<Ref>& items, int depth) {
    std::vector<StateValue> values;
    for (Ref item : items) values.push_back(convert(item, depth));
    return values;
  }
  std::string copy(std::string_view text) {
    if (text.size() > text_left_) fail("{}: this pickle repeats its text over and over", where_);
    text_left_ -= text.size();
    return std::string(text);
  }

  std::string_view where_;
  std::size_t values_left_, text_left_;
};

}  // namespace

StateValue to_state_value(Ref root, std::size_t file_bytes, std::string_view where) {
  return Converter(file_bytes, where).convert(root, 0);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result(text.substr(0, kLongest));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > kLongest) result += "...";
  return result;
}

}  // namespace octet::pickle
