#include "cli/shapes.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "cli/args.h"

namespace octet::cli {

namespace {

Shape default_shape(const TensorInfo& input) {
  Shape shape = input.shape;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == kUnknown) shape[i] = shape.size() != 4 || i == 0 ? 1 : i == 1 ? 3 : 224;
  return shape;
}

}  // namespace

std::optional<NamedShape> find_shape(const std::string& word) {
  std::size_t equals = word.rfind('=');
  NamedShape result;
  if (equals != std::string::npos) result.name = word.substr(0, equals);
  const char* at = word.data() + (equals == std::string::npos ? 0 : equals + 1);
  const char* end = word.data() + word.size();
  for (bool more = true; more; ++at) {
    std::int64_t size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || (next != end && *next != 'x')) return std::nullopt;
    result.shape.push_back(size);
    more = next != end;
    at = next;
  }
  element_count(result.shape);
  return result;
}

Shape parse_input_shape(const std::vector<std::string>& words) {
  Shape shape;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    for (const std::string& part :
         split(word.substr(equals == std::string::npos ? 0 : equals + 1), "x, []")) {
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (error != std::errc() || end != part.data() + part.size() || size == 0 || size < kUnknown)
        fail("--input {}: not a shape such as 1x3x512x1024", fmt::join(words, " "));
      shape.push_back(size);
    }
  }
  if (!words.empty() && shape.size() != 4)
    fail("--input {}: a batch of pictures has four sizes, such as 1x3x512x1024", fmt::join(words, " "));
  return shape;
}

NamedShape parse_shape(const std::string& word) {
  std::optional<NamedShape> shape = find_shape(word);
  if (!shape) fail("--input {}: not a shape such as 1x3x224x224 or NAME=1x3x224x224", word);
  return *shape;
}

std::vector<Shape> choose_shapes(const std::string& path, const std::vector<TensorInfo>& inputs,
                                 const std::vector<NamedShape>& given) {
  std::vector<Shape> shapes(inputs.size());
  for (const NamedShape& shape : given)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == shape.name) shapes[i] = shape.shape;
  for (const NamedShape& shape : given) {
    if (!shape.name.empty()) continue;
    auto free = std::find(shapes.begin(), shapes.end(), Shape());
    if (free == shapes.end())
      fail("--input {}: {} has only {} input{}", to_string(shape.shape), path, inputs.size(),
           inputs.size() == 1 ? "" : "s");
    *free = shape.shape;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (shapes[i].empty()) shapes[i] = default_shape(inputs[i]);
    if (!inputs[i].shape.empty() && inputs[i].shape.size() != shapes[i].size())
      fail("--input {}: input '{}' of {} has {} dimensions: {}", to_string(shapes[i]), inputs[i].name, path,
           inputs[i].shape.size(), to_string(inputs[i].shape));
  }
  return shapes;
}

}  // namespace octet::cli
