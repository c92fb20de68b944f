#include "formats/onnx/tensor_file.h"

#include "base/error.h"
#include "formats/onnx/tensors.h"

namespace octet::onnx {

Tensor load_tensor(const std::filesystem::path& path) {
  auto file = std::make_shared<const MappedFile>(path);
  try {
    return TensorFiles(path.parent_path(), file).read(parse_tensor(as_text(file->bytes())));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: no tensor of ONNX's: {}", path.string(), error.what()), error.kind());
  }
}

}  // namespace octet::onnx
