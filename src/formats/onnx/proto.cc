#include "formats/onnx/proto.h"

#include "formats/protobuf.h"

// Field numbers: onnx/onnx.proto of onnx 1.23.
namespace octet::onnx {

using protozero::pbf_reader;

namespace {

struct TypeRow {
  ElementType type;
  std::string_view name;
  bool is_held;  // the graph has a dtype for it
  DType dtype = DType::kFloat32;
};
constexpr TypeRow kTypes[] = {
    {ElementType::kFloat, "float32", true, DType::kFloat32},
    {ElementType::kUInt8, "uint8", true, DType::kUInt8},
    {ElementType::kInt8, "int8", true, DType::kInt8},
    {ElementType::kUInt16, "uint16", false},
    {ElementType::kInt16, "int16", true, DType::kInt16},
    {ElementType::kInt32, "int32", true, DType::kInt32},
    {ElementType::kInt64, "int64", true, DType::kInt64},
    {ElementType::kString, "string", false},
    {ElementType::kBool, "bool", true, DType::kBool},
    {ElementType::kFloat16, "float16", true, DType::kFloat32},
    {ElementType::kDouble, "float64", true, DType::kFloat32},
    {ElementType::kUInt32, "uint32", false},
    {ElementType::kUInt64, "uint64", false},
    {ElementType::kBFloat16, "bfloat16", true, DType::kFloat32},
    {ElementType::kUInt4, "uint4", true, DType::kUInt8},
    {ElementType::kInt4, "int4", true, DType::kInt8},
};

std::string_view domain_of(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

void append_ints(pbf_reader& in, std::vector<std::int64_t>& out) {
  append_repeated(in, out, &pbf_reader::get_int64, &pbf_reader::get_packed_int64);
}

// Very old files leave the type out.
AttributeType guess_type(const AttributeProto& attribute, bool has_int, bool has_float) {
  if (!attribute.ints.empty()) return AttributeType::kInts;
  if (!attribute.floats.empty()) return AttributeType::kFloats;
  if (!attribute.strings.empty()) return AttributeType::kStrings;
  if (attribute.tensor.data()) return AttributeType::kTensor;
  if (attribute.graph.data()) return AttributeType::kGraph;
  if (attribute.s.data()) return AttributeType::kString;
  if (has_float) return AttributeType::kFloat;
  return has_int ? AttributeType::kInt : AttributeType::kNone;
}

AttributeProto parse_attribute(std::string_view bytes) {
  AttributeProto attribute;
  attribute.bytes = bytes;
  bool has_int = false, has_float = false;
  pbf_reader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        attribute.name = get_name(in);
        break;
      case 2:
        attribute.f = in.get_float();
        has_float = true;
        break;
      case 3:
        attribute.i = in.get_int64();
        has_int = true;
        break;
      case 4:
        attribute.s = in.get_view();
        break;
      case 5:
        attribute.tensor = in.get_view();
        break;
      case 6:
        attribute.graph = in.get_view();
        break;
      case 7:
        append_repeated(in, attribute.floats, &pbf_reader::get_float, &pbf_reader::get_packed_float);
        break;
      case 8:
        append_ints(in, attribute.ints);
        break;
      case 9:
        attribute.strings.push_back(in.get_view());
        break;
      case 20:
        attribute.type = static_cast<AttributeType>(in.get_enum());
        break;
      case 21:
        attribute.reference = get_name(in);
        break;
      default:
        in.skip();
    }
  }
  if (attribute.type == AttributeType::kNone) attribute.type = guess_type(attribute, has_int, has_float);
  return attribute;
}

NodeProto parse_node(pbf_reader in) {
  NodeProto node;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        node.inputs.push_back(get_name(in));
        break;
      case 2:
        node.outputs.push_back(get_name(in));
        break;
      case 3:
        node.name = get_name(in);
        break;
      case 4:
        node.type = get_name(in);
        break;
      case 5:
        node.attributes.push_back(parse_attribute(in.get_view()));
        break;
      case 7:
        node.domain = domain_of(get_name(in));
        break;
      case 8:
        node.overload = get_name(in);
        break;
      default:
        in.skip();
    }
  }
  if (node.type.empty()) fail("a node has no op type");
  return node;
}

// -1 and nothing stand for a dimension that only a run decides, as a name does.
Shape parse_shape(pbf_reader in) {
  Shape shape;
  while (in.next()) {
    if (in.tag() != 1) {
      in.skip();
      continue;
    }
    pbf_reader dim = in.get_message();
    std::int64_t size = kUnknown;
    while (dim.next()) {
      if (dim.tag() == 1)
        size = std::max(dim.get_int64(), kUnknown);
      else
        dim.skip();
    }
    shape.push_back(size);
  }
  return shape;
}

void parse_tensor_type(pbf_reader in, ValueProto& value) {
  while (in.next()) {
    if (in.tag() == 1) {
      value.type = static_cast<ElementType>(in.get_enum());
    } else if (in.tag() == 2) {
      value.shape = parse_shape(in.get_message());
      value.has_shape = true;
    } else {
      in.skip();
    }
  }
}

void parse_type(pbf_reader in, ValueProto& value) {
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        parse_tensor_type(in.get_message(), value);
        break;
      case 4:
        value.kind = "sequence";
        in.skip();
        break;
      case 5:
        value.kind = "map";
        in.skip();
        break;
      case 8:
        value.kind = "sparse tensor";
        in.skip();
        break;
      case 9:
        value.kind = "optional";
        in.skip();
        break;
      default:
        in.skip();
    }
  }
}

void parse_opset(pbf_reader in, std::map<std::string_view, std::int64_t>& opsets) {
  std::string_view domain;
  std::int64_t version = 0;
  while (in.next()) {
    if (in.tag() == 1)
      domain = domain_of(get_name(in));
    else if (in.tag() == 2)
      version = in.get_int64();
    else
      in.skip();
  }
  opsets[domain] = version;
}

FunctionProto parse_function(pbf_reader in) {
  FunctionProto function;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        function.name = get_name(in);
        break;
      case 4:
        function.inputs.push_back(get_name(in));
        break;
      case 5:
        function.outputs.push_back(get_name(in));
        break;
      case 6:
        function.attributes.push_back(get_name(in));
        break;
      case 7:
        function.nodes.push_back(parse_node(in.get_message()));
        break;
      case 9:
        parse_opset(in.get_message(), function.opsets);
        break;
      case 10:
        function.domain = domain_of(get_name(in));
        break;
      case 11:
        function.defaults.push_back(parse_attribute(in.get_view()));
        break;
      case 13:
        function.overload = get_name(in);
        break;
      default:
        in.skip();
    }
  }
  return function;
}

// Runs `parse`; what protobuf finds wrong becomes an Error.
template <class Parse>
auto guarded(Parse parse) {
  try {
    return parse();
  } catch (const protozero::exception& error) {
    fail("it is damaged or cut off ({})", error.what());
  }
}

// All numbers of field `tag`.
template <class T, class One, class Packed>
std::vector<T> numbers(const TensorProto& tensor, protozero::pbf_tag_type tag, One one, Packed packed) {
  return guarded([&] {
    std::vector<T> result;
    pbf_reader in(tensor.bytes);
    while (in.next(tag)) append_repeated(in, result, one, packed);
    return result;
  });
}

}  // namespace

std::string name_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return std::string(row.name);
  return fmt::format("type {}", static_cast<int>(type));
}

bool graph_dtype(ElementType type, DType* dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.type != type || !row.is_held) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

ElementType element_type(DType dtype) {
  if (dtype == DType::kFloat16) return ElementType::kFloat16;
  if (dtype == DType::kBFloat16) return ElementType::kBFloat16;
  if (dtype == DType::kFloat64) return ElementType::kDouble;
  for (const TypeRow& row : kTypes)
    if (row.is_held && row.dtype == dtype) return row.type;
  return ElementType::kNone;
}

const AttributeProto* NodeProto::find(std::string_view attribute) const {
  for (const AttributeProto& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

TensorProto parse_tensor(std::string_view bytes) {
  return guarded([&] {
    TensorProto tensor;
    tensor.bytes = bytes;
    pbf_reader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1:
          append_ints(in, tensor.dims);
          break;
        case 2:
          tensor.type = static_cast<ElementType>(in.get_int32());
          break;
        case 8:
          tensor.name = get_name(in);
          break;
        case 9:
          tensor.raw = in.get_view();
          tensor.has_raw = true;
          break;
        case 13: {
          std::pair<std::string_view, std::string_view> entry;
          pbf_reader fields = in.get_message();
          while (fields.next()) {
            if (fields.tag() == 1)
              entry.first = fields.get_view();
            else if (fields.tag() == 2)
              entry.second = get_name(fields);
            else
              fields.skip();
          }
          tensor.external.push_back(entry);
          break;
        }
        case 14:
          tensor.is_external = in.get_enum() == 1;
          break;
        default:
          in.skip();
      }
    }
    return tensor;
  });
}

ValueProto parse_value(std::string_view bytes) {
  return guarded([&] {
    ValueProto value;
    pbf_reader in(bytes);
    while (in.next()) {
      if (in.tag() == 1)
        value.name = get_name(in);
      else if (in.tag() == 2)
        parse_type(in.get_message(), value);
      else
        in.skip();
    }
    return value;
  });
}

GraphProto parse_graph(std::string_view bytes) {
  return guarded([&] {
    GraphProto graph;
    pbf_reader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1:
          graph.nodes.push_back(parse_node(in.get_message()));
          break;
        case 2:
          graph.name = get_name(in);
          break;
        case 5:
          graph.initializers.push_back(parse_tensor(in.get_view()));
          break;
        case 11:
          graph.inputs.push_back(parse_value(in.get_view()));
          break;
        case 12:
          graph.outputs.push_back(parse_value(in.get_view()));
          break;
        case 13:
          graph.values.push_back(parse_value(in.get_view()));
          break;
        case 15:
          graph.has_sparse = true;
          in.skip();
          break;
        default:
          in.skip();
      }
    }
    return graph;
  });
}

ModelProto parse_model(std::string_view bytes) {
  return guarded([&] {
    ModelProto model;
    pbf_reader in(bytes);
    for (const char* start = bytes.data(); in.next(); start = in.data().data()) {
      switch (in.tag()) {
        case 1:
          model.ir_version = in.get_int64();
          break;
        case 7:
          model.graph = parse_graph(in.get_view());
          model.has_graph = true;
          break;
        case 8:
          parse_opset(in.get_message(), model.opsets);
          break;
        case 25:
          model.functions.push_back(parse_function(in.get_message()));
          break;
        case 20:  // how it was trained, which a changed model no longer is
          in.skip();
          break;
        default:
          keep_field(in, start, model.about);
      }
    }
    if (!model.has_graph) fail("it has no graph");
    return model;
  });
}

bool looks_like_model(std::string_view bytes) {
  try {
    pbf_reader in(bytes);
    bool has_version = false, has_graph = false;
    while (in.next()) {
      constexpr protozero::pbf_tag_type kLastTag = 32;
      if (in.tag() > kLastTag) return false;
      if (in.tag() == 1) {
        if (in.wire_type() != protozero::pbf_wire_type::varint) return false;
        has_version = true;
      }
      if (in.tag() == 7) {
        if (in.wire_type() != protozero::pbf_wire_type::length_delimited) return false;
        has_graph = true;
      }
      in.skip();
    }
    return has_version && has_graph;
  } catch (const protozero::exception&) {
    return false;
  }
}

std::vector<float> float_data(const TensorProto& tensor) {
  return numbers<float>(tensor, 4, &pbf_reader::get_float, &pbf_reader::get_packed_float);
}

std::vector<double> double_data(const TensorProto& tensor) {
  return numbers<double>(tensor, 10, &pbf_reader::get_double, &pbf_reader::get_packed_double);
}

std::vector<std::int32_t> int32_data(const TensorProto& tensor) {
  return numbers<std::int32_t>(tensor, 5, &pbf_reader::get_int32, &pbf_reader::get_packed_int32);
}

std::vector<std::int64_t> int64_data(const TensorProto& tensor) {
  return numbers<std::int64_t>(tensor, 7, &pbf_reader::get_int64, &pbf_reader::get_packed_int64);
}

}  // namespace octet::onnx
