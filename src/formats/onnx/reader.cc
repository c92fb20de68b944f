#include "formats/onnx/reader.h"

#include "formats/onnx/importer.h"

namespace octet::onnx {

ValueId Reader::in(std::size_t i) const {
  if (!has(i)) fail("input {} is missing", i);
  return inputs_[i];
}

const AttributeProto* Reader::find(std::string_view name) const {
  for (const AttributeProto& attribute : attributes_)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

namespace {

const AttributeProto& typed(const AttributeProto& attribute, AttributeType type) {
  if (attribute.type != type) fail("attribute {} is of another type than it should be", attribute.name);
  return attribute;
}

}  // namespace

std::int64_t Reader::integer(std::string_view name, std::optional<std::int64_t> fallback) const {
  const AttributeProto* attribute = find(name);
  if (!attribute && !fallback) fail("attribute {} is missing", name);
  return attribute ? typed(*attribute, AttributeType::kInt).i : *fallback;
}

double Reader::real(std::string_view name, double fallback) const {
  const AttributeProto* attribute = find(name);
  return attribute ? typed(*attribute, AttributeType::kFloat).f : fallback;
}

std::string Reader::text(std::string_view name, std::string_view fallback) const {
  const AttributeProto* attribute = find(name);
  return std::string(attribute ? typed(*attribute, AttributeType::kString).s : fallback);
}

std::optional<Ints> Reader::ints(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (!attribute) return std::nullopt;
  // An empty list may have no type in very old files.
  if (attribute->type == AttributeType::kNone) return Ints();
  return typed(*attribute, AttributeType::kInts).ints;
}

std::optional<std::vector<double>> Reader::reals(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (!attribute) return std::nullopt;
  const std::vector<float>& floats = typed(*attribute, AttributeType::kFloats).floats;
  return std::vector<double>(floats.begin(), floats.end());
}

DType Reader::dtype_attribute(std::string_view name) const {
  const auto type = static_cast<ElementType>(integer(name));
  DType dtype = DType::kFloat32;
  if (!graph_dtype(type, &dtype)) fail("{} is {}, which octet does not hold", name, name_of(type));
  return dtype;
}

bool Reader::has_rank(ValueId id) const {
  return importer_.known(id).has_rank;
}

const Shape& Reader::shape(ValueId id) const {
  if (!has_rank(id))
    fail("not even the number of dimensions of {} is known; give the model's input shapes",
         importer_.graph_.value(id).name);
  return importer_.graph_.value(id).shape;
}

DType Reader::dtype(ValueId id) const {
  return importer_.graph_.value(id).dtype;
}

const Tensor* Reader::constant(ValueId id) const {
  return id == kNoValue ? nullptr : importer_.elements_of(id, true);
}

Ints Reader::need_ints(std::size_t i, std::string_view what) const {
  const Tensor* tensor = importer_.elements_of(in(i), true);
  if (!tensor) fail("{} is computed in the run; octet needs a constant", what);
  if (tensor->dtype() != DType::kInt64 && tensor->dtype() != DType::kInt32)
    fail("{} is {}, expected integers", what, octet::name_of(tensor->dtype()));
  return to_int64s(*tensor);
}

std::optional<Ints> Reader::list(std::size_t i, std::string_view name) const {
  if (has(i)) return need_ints(i, name);
  return ints(name);
}

std::int64_t Reader::axis(std::int64_t axis, std::size_t rank) {
  return ops::normalize_axis(axis, rank);
}

ValueId Reader::emit(const std::string& op, std::vector<ValueId> inputs, Attrs attrs) {
  return emit_multi(op, std::move(inputs), std::move(attrs), 1)[0];
}

std::vector<ValueId> Reader::emit_multi(const std::string& op, std::vector<ValueId> inputs, Attrs attrs,
                                        std::size_t outputs) {
  return importer_.emit(op, std::move(inputs), std::move(attrs), outputs);
}

ValueId Reader::add(Tensor constant) {
  return importer_.add_constant(importer_.unique(importer_.base_name_ + ".constant"), std::move(constant));
}

void Reader::result(ValueId id, std::size_t output) {
  if (results_.size() <= output) results_.resize(output + 1, kNoValue);
  results_[output] = id;
}

Tensor Reader::read_tensor(const AttributeProto& attribute) {
  typed(attribute, AttributeType::kTensor);
  return importer_.source_.tensors->read(parse_tensor(attribute.tensor));
}

}  // namespace octet::onnx
