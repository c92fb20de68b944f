#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

// The messages of onnx.proto as views of the file: names and lists are parsed, data and subgraphs are left
// where they lie until someone asks for them. docs/onnx.md says what octet makes of them.
namespace octet::onnx {

// TensorProto.DataType.
enum class ElementType : int {
  kNone = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kBFloat16 = 16,
  kUInt4 = 21,
  kInt4 = 22,
};
std::string name_of(ElementType type);  // "float16"; "type 14" for one without a name here

// The dtype that tensors of this type have in the graph; false when there is none. Every float becomes
// float32, since nothing computes in another one, and 4-bit integers are held in 8.
bool graph_dtype(ElementType type, DType* dtype);
ElementType element_type(DType dtype);

// AttributeProto.AttributeType.
enum class AttributeType : int {
  kNone = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

struct AttributeProto {
  std::string_view bytes;  // the whole message
  std::string_view name, reference;
  AttributeType type = AttributeType::kNone;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s, tensor, graph;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
};

struct NodeProto {
  std::string_view name, type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // "": absent
  std::vector<AttributeProto> attributes;

  const AttributeProto* find(std::string_view attribute) const;
};

struct TensorProto {
  std::string_view bytes;  // the whole message
  std::string_view name;
  std::vector<std::int64_t> dims;
  ElementType type = ElementType::kNone;
  std::string_view raw;
  bool has_raw = false, is_external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external;  // key and value
};

// A name with a type: of a graph's inputs and outputs, and what a file says of others.
struct ValueProto {
  std::string_view name;
  std::string_view kind = "tensor";  // or what it is in place of one: "sequence", "map", ...
  ElementType type = ElementType::kNone;
  bool has_shape = false;
  Shape shape;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueProto> inputs, outputs, values;
  bool has_sparse = false;
};

struct FunctionProto {
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::map<std::string_view, std::int64_t> opsets;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::map<std::string_view, std::int64_t> opsets;  // by domain; the default one is ""
  GraphProto graph;
  bool has_graph = false;
  std::vector<FunctionProto> functions;
  // Whole fields that say where the model comes from, to be written into a changed one, too: producer, texts,
  // metadata.
  std::string about;
};

// An Error says what is wrong, without the file's name.
ModelProto parse_model(std::string_view bytes);
GraphProto parse_graph(std::string_view bytes);
TensorProto parse_tensor(std::string_view bytes);
ValueProto parse_value(std::string_view bytes);

// Whether the fields are those of a model: for files of any name.
bool looks_like_model(std::string_view bytes);

// The elements of a tensor's typed field, of which a tensor uses the one of its type.
std::vector<float> float_data(const TensorProto& tensor);
std::vector<double> double_data(const TensorProto& tensor);
std::vector<std::int32_t> int32_data(const TensorProto& tensor);
std::vector<std::int64_t> int64_data(const TensorProto& tensor);

}  // namespace octet::onnx
