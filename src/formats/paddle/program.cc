#include "formats/paddle/program.h"

#include <algorithm>
#include <limits>

#include "formats/paddle_common/tensor_desc.h"
#include "formats/protobuf.h"

// Field numbers and types: docs/paddle-format.md.
namespace octet::paddle {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

namespace {

void append_int32s(pbf_reader& in, std::vector<std::int64_t>& out) {
  append_repeated(in, out, &pbf_reader::get_int32, &pbf_reader::get_packed_int32);
}
void append_int64s(pbf_reader& in, std::vector<std::int64_t>& out) {
  append_repeated(in, out, &pbf_reader::get_int64, &pbf_reader::get_packed_int64);
}
void append_bools(pbf_reader& in, std::vector<std::int64_t>& out) {
  append_repeated(in, out, &pbf_reader::get_bool, &pbf_reader::get_packed_bool);
}
void append_floats(pbf_reader& in, std::vector<double>& out) {
  append_repeated(in, out, &pbf_reader::get_float, &pbf_reader::get_packed_float);
}
void append_doubles(pbf_reader& in, std::vector<double>& out) {
  append_repeated(in, out, &pbf_reader::get_double, &pbf_reader::get_packed_double);
}

struct Scalar {
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;
};

Scalar parse_scalar(pbf_reader in) {
  constexpr int kFloat64 = 3;
  Scalar scalar;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        scalar.is_float = in.get_enum() == kFloat64;
        break;
      case 2:
        scalar.integer = in.get_bool();
        break;
      case 3:
        scalar.integer = in.get_int64();
        break;
      case 4:
        scalar.real = in.get_double();
        break;
      default:
        in.skip();
    }
  }
  return scalar;
}

AttrDesc parse_attr(pbf_reader in) {
  AttrDesc attr;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view string;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  Scalar scalar;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        attr.name = get_name(in);
        break;
      case 2:
        attr.type = static_cast<AttrType>(in.get_enum());
        break;
      case 3:
        integer = in.get_int32();
        break;
      case 4:
        real = in.get_float();
        break;
      case 5:
        string = in.get_view();
        break;
      case 6:
        append_int32s(in, integers);
        break;
      case 7:
        append_floats(in, reals);
        break;
      case 10:
        integer = in.get_bool();
        break;
      case 11:
        append_bools(in, integers);
        break;
      case 13:
        integer = in.get_int64();
        break;
      case 15:
        append_int64s(in, integers);
        break;
      case 16:
        append_doubles(in, reals);
        break;
      case 19:
        real = in.get_double();
        break;
      case 20:
        scalar = parse_scalar(in.get_message());
        break;
      case 21: {
        Scalar item = parse_scalar(in.get_message());
        reals.push_back(item.is_float ? item.real : static_cast<double>(item.integer));
        break;
      }
      default:
        in.skip();
    }
  }
  switch (attr.type) {
    case AttrType::kInt:
    case AttrType::kLong:
    case AttrType::kBoolean:
      attr.value = integer;
      break;
    case AttrType::kFloat:
    case AttrType::kFloat64:
      attr.value = real;
      break;
    case AttrType::kString:
      attr.value = string;
      break;
    case AttrType::kInts:
    case AttrType::kLongs:
    case AttrType::kBooleans:
      attr.value = std::move(integers);
      break;
    case AttrType::kFloats:
    case AttrType::kFloat64s:
    case AttrType::kScalars:
      attr.value = std::move(reals);
      break;
    case AttrType::kScalar:
      if (scalar.is_float)
        attr.value = scalar.real;
      else
        attr.value = scalar.integer;
      break;
    default:
      break;
  }
  return attr;
}

Slot parse_slot(pbf_reader in) {
  Slot slot;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        slot.name = get_name(in);
        break;
      case 2:
        slot.arguments.push_back(get_name(in));
        break;
      default:
        in.skip();
    }
  }
  return slot;
}

OpDesc parse_op(std::string_view bytes) {
  OpDesc op;
  op.bytes = bytes;
  pbf_reader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        op.inputs.push_back(parse_slot(in.get_message()));
        break;
      case 2:
        op.outputs.push_back(parse_slot(in.get_message()));
        break;
      case 3:
        op.type = get_name(in);
        break;
      case 4:
        op.attrs.push_back(parse_attr(in.get_message()));
        break;
      default:
        in.skip();
    }
  }
  if (op.type.empty()) fail("an op has no type");
  return op;
}

void parse_var_type(pbf_reader in, VarDesc& var) {
  while (in.next()) {
    if (in.tag() == 1) {
      var.type = in.get_enum();
    } else if (in.tag() == 3) {  // LoDTensorDesc, whose field 1 is the TensorDesc
      pbf_reader dense = in.get_message();
      while (dense.next(1)) {
        TensorDesc desc = parse_tensor_desc(dense.get_view());
        var.data_type = desc.data_type;
        var.shape = std::move(desc.shape);
      }
    } else {
      in.skip();
    }
  }
}

VarDesc parse_var(std::string_view bytes) {
  VarDesc var;
  var.bytes = bytes;
  pbf_reader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        var.name = get_name(in);
        break;
      case 2:
        parse_var_type(in.get_message(), var);
        break;
      case 3:
        var.persistable = in.get_bool();
        break;
      default:
        in.skip();
    }
  }
  if (var.name.empty()) fail("a variable has no name");
  return var;
}

void parse_block(std::string_view bytes, Program& program) {
  pbf_reader in(bytes);
  for (const char* start = bytes.data(); in.next(); start = in.data().data()) {
    switch (in.tag()) {
      case 3:
        program.vars.push_back(parse_var(in.get_view()));
        break;
      case 4:
        program.ops.push_back(parse_op(in.get_view()));
        break;
      default:
        keep_field(in, start, program.block_rest);
    }
  }
}

}  // namespace

Program parse_program(std::string_view bytes) {
  Program program;
  try {
    pbf_reader in(bytes);
    bool has_block = false;
    for (const char* start = bytes.data(); in.next(); start = in.data().data()) {
      if (in.tag() != 1) {
        keep_field(in, start, program.program_rest);
      } else if (has_block) {
        program.other_blocks.push_back(in.get_view());
      } else {
        parse_block(in.get_view(), program);
        has_block = true;
      }
    }
    if (!has_block) fail("it has no block");
  } catch (const protozero::exception& error) {
    fail("it is damaged or cut off ({})", error.what());
  }
  return program;
}

namespace {

std::int32_t as_int32(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

void write_attr(pbf_writer& op, const NewAttr& attr) {
  pbf_writer out(op, 4);
  out.add_string(1, attr.name);
  out.add_enum(2, static_cast<int>(attr.type));
  auto integer = [&] { return std::get<std::int64_t>(attr.value); };
  auto integers = [&]() -> auto& {
    return std::get<std::vector<std::int64_t>>(attr.value);
  };
  switch (attr.type) {
    case AttrType::kInt:
      out.add_int32(3, as_int32(integer()));
      break;
    case AttrType::kFloat:
      out.add_float(4, static_cast<float>(std::get<double>(attr.value)));
      break;
    case AttrType::kString:
      out.add_string(5, std::get<std::string>(attr.value));
      break;
    case AttrType::kInts:
      for (std::int64_t value : integers()) out.add_int32(6, as_int32(value));
      break;
    case AttrType::kFloats:
      for (double value : std::get<std::vector<double>>(attr.value))
        out.add_float(7, static_cast<float>(value));
      break;
    case AttrType::kBoolean:
      out.add_bool(10, integer() != 0);
      break;
    case AttrType::kLong:
      out.add_int64(13, integer());
      break;
    case AttrType::kLongs:
      for (std::int64_t value : integers()) out.add_int64(15, value);
      break;
    default:
      check(false, "octet writes no attribute of this type");
  }
}

void write_slots(pbf_writer& op, protozero::pbf_tag_type tag,
                 const std::vector<std::pair<std::string, std::vector<std::string>>>& slots) {
  for (const auto& [name, arguments] : slots) {
    pbf_writer out(op, tag);
    out.add_string(1, name);
    for (const std::string& argument : arguments) out.add_string(2, argument);
  }
}

}  // namespace

std::string write_op(const NewOp& op) {
  std::string bytes;
  pbf_writer out(bytes);
  write_slots(out, 1, op.inputs);
  write_slots(out, 2, op.outputs);
  out.add_string(3, op.type);
  for (const NewAttr& attr : op.attrs) write_attr(out, attr);
  return bytes;
}

std::string write_var(std::string_view name, int var_type, int data_type, const Shape& shape,
                      bool persistable) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, name);
  {
    pbf_writer type(out, 2);
    type.add_enum(1, var_type);
    if (var_type == kDenseTensor) {
      pbf_writer dense(type, 3);
      dense.add_message(1, write_tensor_desc({data_type, shape}));
    }
  }
  if (persistable) out.add_bool(3, true);
  return bytes;
}

std::string write_program(const std::vector<std::string_view>& vars, const std::vector<std::string_view>& ops,
                          const Program* original) {
  constexpr std::int64_t kVersion =
      2006002;  // what a file of our own declares: Paddle 2.6.2 has all ops we write
  std::string block;
  {
    pbf_writer out(block);
    if (!original) {
      out.add_int32(1, 0);
      out.add_int32(2, -1);
    }
    for (std::string_view var : vars) out.add_message(3, var);
    for (std::string_view op : ops) out.add_message(4, op);
  }
  if (original) block += original->block_rest;

  std::string bytes;
  pbf_writer out(bytes);
  out.add_message(1, block);
  if (original) {
    for (std::string_view other : original->other_blocks) out.add_message(1, other);
    bytes += original->program_rest;
  } else {
    pbf_writer version(out, 4);
    version.add_int64(1, kVersion);
  }
  return bytes;
}

}  // namespace octet::paddle
