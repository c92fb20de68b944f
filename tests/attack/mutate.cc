#include "attack/mutate.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace octet::attack {

namespace {

std::size_t below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);
}

bool chance(Random& random, int percent) {
  return below(random, 100) < static_cast<std::size_t>(percent);
}

template <class T>
const T& one_of(Random& random, const std::vector<T>& list) {
  return list[below(random, list.size())];
}

// Numbers at which programs break.
std::int64_t odd_integer(std::int64_t was, Random& random) {
  static const std::vector<std::int64_t> kOdd = {0,
                                                 1,
                                                 2,
                                                 3,
                                                 -1,
                                                 -2,
                                                 7,
                                                 8,
                                                 9,
                                                 16,
                                                 17,
                                                 64,
                                                 127,
                                                 128,
                                                 255,
                                                 256,
                                                 1000,
                                                 4096,
                                                 65535,
                                                 65536,
                                                 1 << 20,
                                                 1 << 24,
                                                 1 << 28,
                                                 1 << 30,
                                                 -(1LL << 31),
                                                 (1LL << 31) - 1,
                                                 1LL << 31,
                                                 1LL << 32,
                                                 (1LL << 32) + 1,
                                                 1LL << 40,
                                                 1LL << 62,
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 std::numeric_limits<std::int64_t>::min()};
  const auto bits = static_cast<std::uint64_t>(was);
  switch (below(random, 6)) {
    case 0:
      return static_cast<std::int64_t>(bits + 1);
    case 1:
      return static_cast<std::int64_t>(bits - 1);
    case 2:
      return static_cast<std::int64_t>(bits * 2);
    case 3:
      return static_cast<std::int64_t>(0 - bits);
    default:
      return one_of(random, kOdd);
  }
}

double odd_number(double was, Random& random) {
  static const std::vector<double> kOdd = {0,
                                           -0.0,
                                           1,
                                           -1,
                                           0.5,
                                           1e-40,
                                           1e-7,
                                           1e7,
                                           1e30,
                                           -1e30,
                                           3.4e38,
                                           std::numeric_limits<double>::infinity(),
                                           -std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::quiet_NaN()};
  return chance(random, 20) ? -was : one_of(random, kOdd);
}

std::string odd_text(const std::string& was, const std::vector<std::string>& others,
                     const std::vector<std::string>& words, Random& random) {
  switch (below(random, 8)) {
    case 0:
      return "";
    case 1:
      return was + was;
    case 2:
      return was.substr(0, was.size() / 2);
    case 3:
      return std::string(below(random, 3000), 'x') + "\n\x1b[31m\xff";
    case 4:
    case 5:
      if (!words.empty()) return one_of(random, words);
      [[fallthrough]];
    default:
      return others.empty() ? "?" : one_of(random, others);
  }
}

// ---- protobuf

enum class Type {
  kLeaf,
  kProgram,
  kBlock,
  kOp,
  kOpVar,
  kOpAttr,
  kVar,
  kVarType,
  kLodTensor,
  kTensorDesc,
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValueInfo,
  kTypeProto,
  kTensorType,
  kShape,
  kDim,
  kOpset
};

Type type_of(Type parent, std::uint32_t field) {
  static const std::map<std::pair<Type, std::uint32_t>, Type> kMessages = {
      {{Type::kProgram, 1}, Type::kBlock},
      {{Type::kBlock, 3}, Type::kVar},
      {{Type::kBlock, 4}, Type::kOp},
      {{Type::kOp, 1}, Type::kOpVar},
      {{Type::kOp, 2}, Type::kOpVar},
      {{Type::kOp, 4}, Type::kOpAttr},
      {{Type::kVar, 2}, Type::kVarType},
      {{Type::kVarType, 3}, Type::kLodTensor},
      {{Type::kLodTensor, 1}, Type::kTensorDesc},
      {{Type::kModel, 7}, Type::kGraph},
      {{Type::kModel, 8}, Type::kOpset},
      {{Type::kGraph, 1}, Type::kNode},
      {{Type::kGraph, 5}, Type::kTensor},
      {{Type::kGraph, 11}, Type::kValueInfo},
      {{Type::kGraph, 12}, Type::kValueInfo},
      {{Type::kGraph, 13}, Type::kValueInfo},
      {{Type::kNode, 5}, Type::kAttribute},
      {{Type::kAttribute, 5}, Type::kTensor},
      {{Type::kAttribute, 6}, Type::kGraph},
      {{Type::kValueInfo, 2}, Type::kTypeProto},
      {{Type::kTypeProto, 1}, Type::kTensorType},
      {{Type::kTensorType, 2}, Type::kShape},
      {{Type::kShape, 1}, Type::kDim}};
  const auto found = kMessages.find({parent, field});
  return found == kMessages.end() ? Type::kLeaf : found->second;
}

enum Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0, wire = kVarint;
  std::uint64_t value = 0;
  std::string bytes = {};  // of a leaf
  std::vector<Field> parts = {};
  Type type = Type::kLeaf;
};

std::optional<std::uint64_t> read_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (text.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void write_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::optional<std::vector<Field>> parse(std::string_view text, Type type) {
  std::vector<Field> fields;
  while (!text.empty()) {
    const auto key = read_varint(text);
    if (!key) return std::nullopt;
    Field field{.number = static_cast<std::uint32_t>(*key >> 3),
                .wire = static_cast<std::uint32_t>(*key & 7)};
    if (field.wire == kVarint || field.wire == kBytes) {
      const auto number = read_varint(text);
      if (!number) return std::nullopt;
      field.value = *number;
    }
    if (field.wire == kFixed32 || field.wire == kFixed64) {
      const std::size_t size = field.wire == kFixed32 ? 4 : 8;
      if (text.size() < size) return std::nullopt;
      std::memcpy(&field.value, text.data(), size);
      text.remove_prefix(size);
    } else if (field.wire == kBytes) {
      if (text.size() < field.value) return std::nullopt;
      field.bytes = text.substr(0, field.value);
      text.remove_prefix(field.value);
      field.type = type_of(type, field.number);
      if (field.type != Type::kLeaf) {
        auto parts = parse(field.bytes, field.type);
        if (!parts) return std::nullopt;
        field.parts = std::move(*parts);
      }
    } else if (field.wire != kVarint) {
      return std::nullopt;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string write(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    write_varint(out, std::uint64_t{field.number} << 3 | field.wire);
    if (field.wire == kVarint) write_varint(out, field.value);
    if (field.wire == kFixed32) out.append(reinterpret_cast<const char*>(&field.value), 4);
    if (field.wire == kFixed64) out.append(reinterpret_cast<const char*>(&field.value), 8);
    if (field.wire != kBytes) continue;
    const std::string content = field.type == Type::kLeaf ? field.bytes : write(field.parts);
    write_varint(out, content.size());
    out += content;
  }
  return out;
}

struct Place {
  std::vector<Field>* list;
  std::size_t at;
  Type parent;
  Field& field() const { return (*list)[at]; }
};

void collect(std::vector<Field>& fields, Type parent, std::vector<Place>& places) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i, parent});
    collect(fields[i].parts, fields[i].type, places);
  }
}

void mutate_bytes(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  for (std::size_t i = 0, n = 1 + below(random, 4); i < n; ++i)
    bytes[below(random, bytes.size())] = static_cast<char>(random());
}

// A list of numbers that lies in one field.
void mutate_packed(std::string& bytes, Random& random) {
  std::vector<std::uint64_t> numbers;
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto number = read_varint(rest);
    if (!number) return mutate_bytes(bytes, random);
    numbers.push_back(*number);
  }
  const std::size_t at = numbers.empty() ? 0 : below(random, numbers.size());
  if (numbers.empty() || chance(random, 15))
    numbers.push_back(1);
  else if (chance(random, 15))
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(at));
  else
    numbers[at] = static_cast<std::uint64_t>(odd_integer(static_cast<std::int64_t>(numbers[at]), random));
  bytes.clear();
  for (std::uint64_t number : numbers) write_varint(bytes, number);
}

void mutate_leaf(const Place& place, const std::vector<Place>& alike, const std::vector<std::string>& words,
                 Random& random) {
  Field& field = place.field();
  if (field.wire == kVarint) {
    const bool other = chance(random, 20);
    field.value =
        other ? one_of(random, alike).field().value
              : static_cast<std::uint64_t>(odd_integer(static_cast<std::int64_t>(field.value), random));
  } else if (field.wire == kFixed32) {
    float was = 0;
    std::memcpy(&was, &field.value, sizeof was);
    const auto now = static_cast<float>(odd_number(static_cast<double>(was), random));
    field.value = 0;
    std::memcpy(&field.value, &now, sizeof now);
  } else if (field.wire == kFixed64) {
    double was = 0;
    std::memcpy(&was, &field.value, sizeof was);
    const double now = odd_number(was, random);
    std::memcpy(&field.value, &now, sizeof now);
  } else {
    bool is_text = true;
    for (char c : field.bytes) is_text = is_text && static_cast<unsigned char>(c) >= 0x20;
    std::vector<std::string> others;
    for (const Place& other : alike) others.push_back(other.field().bytes);
    if (is_text && field.bytes.size() < 200 && !field.bytes.empty())
      field.bytes = odd_text(field.bytes, others, words, random);
    else if (field.bytes.size() < 256)
      mutate_packed(field.bytes, random);
    else if (chance(random, 30))
      field.bytes.resize(below(random, field.bytes.size()));
    else
      mutate_bytes(field.bytes, random);
  }
}

void mutate_once(std::vector<Field>& fields, Type root, const std::vector<std::string>& words,
                 Random& random) {
  std::vector<Place> places;
  collect(fields, root, places);
  if (places.empty()) return;
  const Place place = one_of(random, places);
  std::vector<Place> alike;
  for (const Place& other : places)
    if (other.parent == place.parent && other.field().number == place.field().number &&
        other.field().wire == place.field().wire)
      alike.push_back(other);
  std::vector<Field>& list = *place.list;
  const auto at = static_cast<std::ptrdiff_t>(place.at);
  const bool is_message = place.field().type != Type::kLeaf;
  if (!is_message && chance(random, 75)) return mutate_leaf(place, alike, words, random);
  const Field copy = one_of(random, alike).field();  // before lists move
  switch (below(random, 5)) {
    case 0:
      list.erase(list.begin() + at);
      break;
    case 1:
      list.insert(list.begin() + at, Field(list[place.at]));
      break;
    case 2:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size() + 1)), copy);
      break;
    case 3:
      list[place.at] = copy;
      break;
    default:
      std::swap(list[place.at], list[below(random, list.size())]);
  }
}

// ---- JSON

using nlohmann::json;

void collect(json& value, std::vector<json*>& places) {
  places.push_back(&value);
  if (value.is_structured())
    for (json& part : value) collect(part, places);
}

void mutate_value(json& value, const std::vector<json*>& places, const std::vector<std::string>& words,
                  Random& random) {
  std::vector<std::string> texts;
  std::vector<const json*> alike;
  for (const json* other : places) {
    if (other->type() != value.type()) continue;
    if (other->is_string()) texts.push_back(other->get<std::string>());
    alike.push_back(other);
  }
  if (value.is_structured() && !value.empty() && chance(random, 70)) {
    const std::size_t at = below(random, value.size());
    json copy = *one_of(random, alike);
    if (value.is_array()) {
      switch (below(random, 4)) {
        case 0:
          value.erase(at);
          break;
        case 1:
          value.insert(value.begin() + static_cast<std::ptrdiff_t>(at), json(value[at]));
          break;
        case 2:
          std::swap(value[at], value[below(random, value.size())]);
          break;
        default:
          value[at] = std::move(copy);
      }
    } else {
      auto item = value.begin();
      std::advance(item, at);
      if (chance(random, 50))
        value.erase(item);
      else
        item.value() = std::move(copy);
    }
  } else if (chance(random, 10)) {  // another type
    static const std::vector<json> kOthers = {
        nullptr, true, 0, -1, 1e300, "", json::array(), json::object(), json::array({1, "x"})};
    value = one_of(random, kOthers);
  } else if (value.is_number_float()) {
    value = odd_number(value.get<double>(), random);
  } else if (value.is_number()) {
    value = odd_integer(value.get<std::int64_t>(), random);
  } else if (value.is_string()) {
    std::string text = odd_text(value.get<std::string>(), texts, words, random);
    value = text;
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else {
    value = json(*one_of(random, alike));
  }
}

}  // namespace

std::string mutate_protobuf(const std::string& file, Schema schema, int count,
                            const std::vector<std::string>& words, Random& random) {
  const Type root = schema == Schema::kPaddleProgram ? Type::kProgram
                    : schema == Schema::kOnnxModel   ? Type::kModel
                                                     : Type::kTensorDesc;
  auto fields = parse(file, root);
  if (!fields) {
    std::string bytes = file;
    for (int i = 0; i < count; ++i) mutate_bytes(bytes, random);
    return bytes;
  }
  for (int i = 0; i < count; ++i) mutate_once(*fields, root, words, random);
  return write(*fields);
}

std::string mutate_json(const std::string& file, int count, const std::vector<std::string>& words,
                        Random& random) {
  json document = json::parse(file);
  for (int i = 0; i < count; ++i) {
    std::vector<json*> places;
    collect(document, places);
    mutate_value(*one_of(random, places), places, words, random);
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string mutate_params(const std::string& file, int count, Random& random) {
  // A record: version, levels of detail (0), version, size of the description, description, values.
  constexpr std::size_t kHead = 4 + 8 + 4 + 4;
  struct Record {
    std::string head, description, values;
  };
  std::vector<Record> records;
  for (std::size_t at = 0; at + kHead <= file.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, &file[at + kHead - 4], sizeof size);
    if (size > file.size() - at - kHead) break;
    Record record{file.substr(at, kHead), file.substr(at + kHead, size), {}};
    at += kHead + size;
    const auto fields = parse(record.description, Type::kTensorDesc);
    std::uint64_t count_of = 1, bytes = 4, dtype = 5;
    if (fields)
      for (const Field& field : *fields) {
        if (field.number == 1) dtype = field.value;
        if (field.number == 2) count_of *= field.value;
      }
    bytes = dtype == 3 || dtype == 6 ? 8 : dtype == 20 || dtype == 21 || dtype == 0 ? 1 : 4;
    record.values = file.substr(at, count_of * bytes);
    at += record.values.size();
    records.push_back(std::move(record));
  }
  if (records.empty()) return file;
  for (int i = 0; i < count; ++i) {
    Record& record = records[below(random, records.size())];
    switch (below(random, 6)) {
      case 0:
      case 1:
        record.description = mutate_protobuf(record.description, Schema::kPaddleTensor, 1, {}, random);
        break;
      case 2:
      case 3:
        if (record.values.size() >= sizeof(float)) {
          const auto value = static_cast<float>(odd_number(1, random));
          std::memcpy(&record.values[below(random, record.values.size() / sizeof value) * sizeof value],
                      &value, sizeof value);
        }
        break;
      case 4:
        record.values.resize(below(random, record.values.size() + 1));
        break;
      default:
        if (chance(random, 50))
          std::swap(record, records[below(random, records.size())]);
        else
          mutate_bytes(record.head, random);
    }
  }
  std::string out;
  for (Record& record : records) {
    const auto size = static_cast<std::uint32_t>(record.description.size());
    if (!chance(random, 5)) std::memcpy(&record.head[kHead - 4], &size, sizeof size);
    out += record.head + record.description + record.values;
  }
  return out;
}

}  // namespace octet::attack
