#include "formats/onnx/tensors.h"

#include <charconv>
#include <cstring>

namespace octet::onnx {
namespace fs = std::filesystem;

namespace {

// Bits of an element in raw data.
std::size_t bits_of(ElementType type) {
  switch (type) {
    case ElementType::kUInt4:
    case ElementType::kInt4:
      return 4;
    case ElementType::kUInt8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return 8;
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 16;
    case ElementType::kInt64:
    case ElementType::kDouble:
      return 64;
    default:
      return 32;
  }
}

template <class T>
T element(std::string_view raw, std::size_t i) {
  T value;
  std::memcpy(&value, raw.data() + i * sizeof value, sizeof value);
  return value;
}

float widen(ElementType type, std::uint16_t bits) {
  return type == ElementType::kFloat16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

std::int64_t four_bits(ElementType type, std::uint8_t byte, std::size_t i) {
  const int bits = i % 2 == 0 ? byte & 15 : byte >> 4;
  return type == ElementType::kInt4 && bits > 7 ? bits - 16 : bits;
}

template <class To, class Get>
Tensor filled(const Shape& shape, Get get) {
  Tensor tensor(DTypeOf<To>::value, shape);
  std::size_t i = 0;
  for (To& out : tensor.mutable_data<To>()) out = static_cast<To>(get(i++));
  return tensor;
}

void require_count(const char* field, std::size_t have, std::size_t need) {
  if (have != need) fail("{} has {} entries, its shape needs {}", field, have, need);
}

// What lies in raw data in another form than in a tensor.
Tensor converted(ElementType type, const Shape& shape, std::string_view raw) {
  switch (type) {
    case ElementType::kDouble:
      return filled<float>(shape, [&](std::size_t i) { return element<double>(raw, i); });
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return filled<float>(shape, [&](std::size_t i) { return widen(type, element<std::uint16_t>(raw, i)); });
    case ElementType::kBool:
      return filled<bool>(shape, [&](std::size_t i) { return raw[i] != 0; });
    case ElementType::kInt4:
      return filled<std::int8_t>(
          shape, [&](std::size_t i) { return four_bits(type, element<std::uint8_t>(raw, i / 2), i); });
    default:
      return filled<std::uint8_t>(
          shape, [&](std::size_t i) { return four_bits(type, element<std::uint8_t>(raw, i / 2), i); });
  }
}

// Small integers and 16-bit floats share a field.
Tensor from_int32_data(const TensorProto& proto, const Shape& shape, std::size_t count) {
  const std::vector<std::int32_t> data = int32_data(proto);
  const bool packed = bits_of(proto.type) == 4;
  require_count("int32_data", data.size(), packed ? (count + 1) / 2 : count);
  auto number = [&](std::size_t i) { return data[i]; };
  switch (proto.type) {
    case ElementType::kInt32:
      return filled<std::int32_t>(shape, number);
    case ElementType::kInt16:
      return filled<std::int16_t>(shape, number);
    case ElementType::kInt8:
      return filled<std::int8_t>(shape, number);
    case ElementType::kUInt8:
      return filled<std::uint8_t>(shape, number);
    case ElementType::kBool:
      return filled<bool>(shape, [&](std::size_t i) { return data[i] != 0; });
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return filled<float>(
          shape, [&](std::size_t i) { return widen(proto.type, static_cast<std::uint16_t>(data[i])); });
    default: {
      auto half = [&](std::size_t i) {
        return four_bits(proto.type, static_cast<std::uint8_t>(data[i / 2]), i);
      };
      return proto.type == ElementType::kInt4 ? filled<std::int8_t>(shape, half)
                                              : filled<std::uint8_t>(shape, half);
    }
  }
}

Tensor from_typed_data(const TensorProto& proto, const Shape& shape, std::size_t count) {
  switch (proto.type) {
    case ElementType::kFloat: {
      const std::vector<float> data = float_data(proto);
      require_count("float_data", data.size(), count);
      return Tensor::of<float>(shape, data);
    }
    case ElementType::kDouble: {
      const std::vector<double> data = double_data(proto);
      require_count("double_data", data.size(), count);
      return filled<float>(shape, [&](std::size_t i) { return data[i]; });
    }
    case ElementType::kInt64: {
      const std::vector<std::int64_t> data = int64_data(proto);
      require_count("int64_data", data.size(), count);
      return Tensor::of<std::int64_t>(shape, data);
    }
    default:
      return from_int32_data(proto, shape, count);
  }
}

std::uint64_t parse_size(std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("its {} is no number: {}", key, text);
  return value;
}

// A file of the model's directory. The name comes from the model and must not lead anywhere else, by itself
// or through links.
fs::path resolve(const fs::path& directory, std::string_view location) {
  const fs::path given(location);
  if (location.empty() || given.is_absolute())
    fail("its data is said to be in '{}', which is no file name", location);
  for (const fs::path& part : given)
    if (part == "..") fail("its data is said to be in '{}', outside of the model's directory", location);
  std::error_code error;
  const fs::path base = fs::canonical(directory.empty() ? "." : directory, error);
  const fs::path path = fs::canonical(base / given, error);
  if (error)
    fail("its data is in {}, which is not there; put it beside the model", (directory / given).string());
  const fs::path inside = path.lexically_relative(base);
  if (inside.empty() || *inside.begin() == "..")
    fail("its data is in {}, a link to outside of the model's directory", (directory / given).string());
  if (!fs::is_regular_file(path))
    fail("its data is in {}, which is no regular file", (directory / given).string());
  return path;
}

}  // namespace

TensorFiles::Data TensorFiles::external_data(const TensorProto& proto, std::size_t size) {
  std::string_view location;
  std::uint64_t offset = 0, length = size;
  for (const auto& [key, value] : proto.external) {
    if (key == "location") location = value;
    if (key == "offset") offset = parse_size(key, value);
    if (key == "length") length = parse_size(key, value);
  }
  auto it = external_.find(location);
  if (it == external_.end())
    it = external_.emplace(location, std::make_shared<const MappedFile>(resolve(directory_, location))).first;
  const std::string_view bytes = as_text(it->second->bytes());
  if (length != size) fail("its data has {} bytes, its shape needs {}", length, size);
  if (offset > bytes.size() || size > bytes.size() - offset)
    fail("its data is at bytes {} to {} of '{}', which has {}", offset, offset + size, location,
         bytes.size());
  return {bytes.substr(offset, size), it->second};
}

Tensor TensorFiles::read_elements(const TensorProto& proto) {
  DType dtype = DType::kFloat32;
  if (!graph_dtype(proto.type, &dtype)) fail("octet does not hold {}", name_of(proto.type));
  for (std::int64_t dim : proto.dims)
    if (dim < 0) fail("it has a dimension {}", dim);
  const Shape& shape = proto.dims;
  const auto count = static_cast<std::size_t>(element_count(shape));
  const std::size_t bytes = (count * bits_of(proto.type) + 7) / 8;
  if (!proto.is_external && !proto.has_raw) return from_typed_data(proto, shape, count);
  const Data data = proto.is_external ? external_data(proto, bytes) : Data{proto.raw, model_};
  if (data.bytes.size() != bytes)
    fail("its data has {} bytes, its shape {} needs {}", data.bytes.size(), to_string(shape), bytes);
  const bool as_it_is = size_of(dtype) * 8 == bits_of(proto.type) && dtype != DType::kBool;
  if (count == 0) return Tensor(dtype, shape);
  if (!as_it_is) return converted(proto.type, shape, data.bytes);
  return Tensor::view(dtype, shape, reinterpret_cast<const std::byte*>(data.bytes.data()), data.file);
}

Tensor TensorFiles::read(const TensorProto& proto) {
  try {
    return read_elements(proto);
  } catch (const Error& error) {
    if (proto.name.empty()) throw;
    fail("tensor {}: {}", proto.name, error.what());
  }
}

std::vector<std::string> TensorFiles::external_files() const {
  std::vector<std::string> locations;
  for (const auto& [location, file] : external_) locations.push_back(location);
  return locations;
}

void TensorFiles::drop_pages() const {
  model_->drop_pages();
  for (const auto& [location, file] : external_) file->drop_pages();
}

}  // namespace octet::onnx
