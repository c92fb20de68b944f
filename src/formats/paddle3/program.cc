#include "formats/paddle3/program.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "formats/paddle3/branches.h"
#include "formats/paddle3/json.h"
#include "formats/paddle3/spelling.h"

namespace octet::paddle3 {

namespace {

constexpr Id kMaxId = Id{1} << 53;

// Names go into messages, which are one line, and onto terminals.
std::string_view read_name(JsonReader& in) {
  const std::string_view name = in.string();
  if (std::ranges::any_of(name, [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return code < ' ' || code == 127;
      }))
    fail("it has a name with control characters in it; it is damaged");
  return name;
}

// Of a value; in blocks within blocks some have texts there, which are no values of this one.
Id read_id(JsonReader& in) {
  const JsonNumber number = in.number();
  if (!number.is_integer || number.integer > kMaxId || number.integer < -kMaxId)
    fail("byte {}: no number of a value", in.offset());
  return number.integer;
}

bool read_flag(JsonReader& in) {
  return in.peek() == '0' ? in.number().real != 0 : in.boolean();
}

double special_real(std::string_view text) {
  if (text == "INF") return std::numeric_limits<double>::infinity();
  if (text == "-INF") return -std::numeric_limits<double>::infinity();
  if (text == "NaN" || text == "NAN") return std::numeric_limits<double>::quiet_NaN();
  fail("a number is {}, expected INF, -INF or NaN", text);
}

AttrValue read_value(JsonReader& in);

// {"#":TAG,"D":VALUE}, or "VD" for what JSON has no number for.
AttrValue read_tagged(JsonReader& in) {
  AttrValue value;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "D")
      value = read_value(in);
    else if (key == "VD")
      value = special_real(in.string());
    else
      in.skip();
  }
  return value;
}

void append(std::vector<std::int64_t>& integers, std::vector<double>& reals, const AttrValue& item,
            bool& is_list) {
  if (const auto* integer = std::get_if<std::int64_t>(&item); integer && reals.empty()) {
    integers.push_back(*integer);
    return;
  }
  const auto* real = std::get_if<double>(&item);
  const auto* integer = std::get_if<std::int64_t>(&item);
  if (!real && !integer) {
    is_list = false;
    return;
  }
  if (reals.empty()) {
    reals.assign(integers.begin(), integers.end());
    std::vector<std::int64_t>().swap(integers);
  }
  reals.push_back(real ? *real : static_cast<double>(*integer));
}

AttrValue read_list(JsonReader& in) {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool is_list = true;
  for (in.begin_array(); in.next_item();) append(integers, reals, read_value(in), is_list);
  if (!is_list) return {};
  if (!reals.empty()) return reals;
  return integers;
}

AttrValue read_value(JsonReader& in) {
  switch (in.peek()) {
    case '{':
      return read_tagged(in);
    case '[':
      return read_list(in);
    case '"':
      return in.string();
    case '0': {
      const JsonNumber number = in.number();
      if (number.is_integer) return number.integer;
      return number.real;
    }
    case 'n':
      in.skip();
      return {};
    default:
      return std::int64_t{in.boolean()};
  }
}

Attr read_attr(JsonReader& in) {
  Attr attr;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "N")
      attr.name = read_name(in);
    else if (key == "AT")
      attr.value = read_tagged(in);
    else
      in.skip();
  }
  return attr;
}

std::string_view read_tag(JsonReader& in) {
  std::string_view tag, key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "#")
      tag = in.string();
    else
      in.skip();
  }
  return tag;
}

// A dense tensor's: dtype, dims, layout, LoD, offset.
void read_tensor_type(JsonReader& in, Type& type) {
  int position = 0;
  for (in.begin_array(); in.next_item(); ++position) {
    if (position == 0 && in.peek() == '{') {
      type.has_dtype = dtype_of_tag(read_tag(in), &type.dtype);
    } else if (position == 1 && in.peek() == '[') {
      for (in.begin_array(); in.next_item();) {
        const JsonNumber dim = in.number();
        type.dims.push_back(!dim.is_integer || dim.integer < 0 ? kUnknown : dim.integer);
      }
    } else {
      in.skip();
    }
  }
}

Type read_type(JsonReader& in) {
  Type type;
  bool is_list = false;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "#") {
      const std::string_view tag = in.string();
      type.is_tensor = tag == "0.t_dtensor";
      is_list = tag == "0.t_vec";
    } else if (key == "D" && in.peek() == '[' && is_list) {
      for (in.begin_array(); in.next_item(); ++type.items) in.skip();
    } else if (key == "D" && in.peek() == '[') {
      read_tensor_type(in, type);
    } else {
      in.skip();
    }
  }
  return type;
}

Result read_result(JsonReader& in) {
  Result result;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "%")
      result.id = read_id(in);
    else if (key == "TT")
      result.type = read_type(in);
    else
      in.skip();
  }
  return result;
}

Id read_input(JsonReader& in) {
  Id id = kAbsent;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "%")
      id = read_id(in);
    else
      in.skip();
  }
  return id;
}

Op read_op(JsonReader& in, std::string_view text);

// What the blocks of a region read and define.
struct Scope {
  std::vector<Id> read;
  std::unordered_set<Id> defined;
};

void read_block_arguments(JsonReader& in, Scope& scope) {
  std::string_view key;
  if (in.peek() != '[') return in.skip();
  for (in.begin_array(); in.next_item();) {
    if (in.peek() != '{') {
      in.skip();
      continue;
    }
    for (in.begin_object(); in.next_member(&key);) {
      if (key == "#" && in.peek() == '0')
        scope.defined.insert(read_id(in));
      else
        in.skip();
    }
  }
}

void read_inner_block(JsonReader& in, std::string_view text, Scope& scope, std::vector<Op>& ops) {
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "args" || key == "kwargs") {
      read_block_arguments(in, scope);
    } else if (key == "ops") {
      for (in.begin_array(); in.next_item();) {
        const Op& op = ops.emplace_back(read_op(in, text));
        scope.read.insert(scope.read.end(), op.inputs.begin(), op.inputs.end());
        scope.read.insert(scope.read.end(), op.captured.begin(), op.captured.end());
        for (const Result& result : op.outputs) scope.defined.insert(result.id);
      }
    } else {
      in.skip();
    }
  }
}

// Calls block() for each block of a list of regions, region() for each region.
template <class Region, class Block>
void read_regions(JsonReader& in, Region region, Block block) {
  std::string_view key;
  for (in.begin_array(); in.next_item();) {
    region();
    for (in.begin_object(); in.next_member(&key);) {
      if (key != "blocks") {
        in.skip();
        continue;
      }
      for (in.begin_array(); in.next_item();) block();
    }
  }
}

void read_blocks(JsonReader& in, std::string_view text, Op& op) {
  Scope scope;
  read_regions(
      in, [] {}, [&] { read_inner_block(in, text, scope, op.blocks.emplace_back()); });
  std::erase_if(scope.read, [&](Id id) { return id == kAbsent || scope.defined.contains(id); });
  std::ranges::sort(scope.read);
  scope.read.erase(std::unique(scope.read.begin(), scope.read.end()), scope.read.end());
  op.captured = std::move(scope.read);
}

// A parameter has bare values there, of which the text is its name.
void read_attrs(JsonReader& in, Op& op) {
  for (in.begin_array(); in.next_item();) {
    if (in.peek() == '{') {
      Attr attr = read_attr(in);
      if (attr.name != "struct_name") op.attrs.push_back(std::move(attr));
    } else if (in.peek() == '"') {
      op.parameter = read_name(in);
    } else {
      in.skip();
    }
  }
}

void read_training_attrs(JsonReader& in, Op& op) {
  int position = 0;
  for (in.begin_array(); in.next_item(); ++position) {
    if (position == 0 && in.peek() != '{')
      op.is_persistable = read_flag(in);
    else
      in.skip();
  }
}

Op read_op(JsonReader& in, std::string_view text) {
  Op op;
  in.peek();
  const std::size_t begin = in.offset();
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "#") {
      op.name = read_name(in);
    } else if (key == "I") {
      for (in.begin_array(); in.next_item();) op.inputs.push_back(read_input(in));
    } else if (key == "O" && in.peek() == '{') {
      op.outputs.push_back(read_result(in));
    } else if (key == "O") {
      for (in.begin_array(); in.next_item();) op.outputs.push_back(read_result(in));
    } else if (key == "A") {
      read_attrs(in, op);
    } else if (key == "OA" && in.peek() == '[') {
      read_training_attrs(in, op);
    } else if (key == "regions") {
      read_blocks(in, text, op);
    } else {
      in.skip();
    }
  }
  op.text = text.substr(begin, in.offset() - begin);
  if (op.name.empty()) fail("byte {}: an op without a name", begin);
  return op;
}

void read_base(JsonReader& in, Program& program) {
  std::string_view key, magic;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "magic")
      magic = in.string();
    else if (key == "version")
      program.version = static_cast<std::int64_t>(std::clamp(in.number().real, -1e6, 1e6));
    else
      in.skip();
  }
  if (magic != "pir") fail("its base_code has not the magic word pir");
}

void read_block(JsonReader& in, std::string_view text, Program& program) {
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key != "ops") {
      in.skip();
      continue;
    }
    if (!program.head.empty()) fail("byte {}: a second list of ops", in.offset());
    in.begin_array();
    program.head = text.substr(0, in.offset());
    std::size_t end = in.offset();
    while (in.next_item()) {
      program.ops.push_back(read_op(in, text));
      end = in.offset();
    }
    program.tail = text.substr(end);
  }
}

void read_program(JsonReader& in, std::string_view text, Program& program) {
  std::string_view key;
  int regions = 0, blocks = 0;
  for (in.begin_object(); in.next_member(&key);) {
    if (key != "regions") {
      in.skip();
      continue;
    }
    read_regions(
        in, [&] { ++regions; },
        [&] {
          ++blocks;
          if (regions > 1 || blocks > 1) fail("it has several regions or blocks, expected one");
          read_block(in, text, program);
        });
  }
}

}  // namespace

const Attr* Op::find_attr(std::string_view attr) const {
  for (const Attr& candidate : attrs)
    if (candidate.name == attr) return &candidate;
  return nullptr;
}

Program parse_program(std::string_view text) {
  Program program;
  JsonReader in(text, program.kept);
  bool has_base = false;
  std::string_view key;
  for (in.begin_object(); in.next_member(&key);) {
    if (key == "base_code") {
      has_base = true;
      read_base(in, program);
    } else if (key == "program") {
      read_program(in, text, program);
    } else {
      in.skip();
    }
  }
  in.end();
  if (!has_base) fail("it has no base_code");
  if (program.head.empty()) fail("it has no ops");
  take_constant_branches(program);
  return program;
}

bool begins_like_program(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  const std::string_view head = text.substr(begin, 1024);
  return head.find("\"base_code\"") != std::string_view::npos &&
         head.find("\"pir\"") != std::string_view::npos;
}

}  // namespace octet::paddle3
