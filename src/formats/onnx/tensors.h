#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "formats/onnx/proto.h"

namespace octet::onnx {

// Reads the tensors of a model: from its own file, and from those beside it that hold "external data".
class TensorFiles {
 public:
  TensorFiles(std::filesystem::path directory, std::shared_ptr<const MappedFile> model)
      : directory_(std::move(directory)), model_(std::move(model)) {}

  // Views of the file where it holds the numbers as they are; float16, bfloat16 and float64 become float32,
  // two 4-bit integers of a byte two bytes. An Error names the tensor.
  Tensor read(const TensorProto& proto);

  void drop_pages() const;
  std::vector<std::string> external_files() const;  // that were read from, as the model names them

 private:
  struct Data {
    std::string_view bytes;
    std::shared_ptr<const MappedFile> file;
  };
  // The bytes of a tensor that needs `size` of them.
  Data external_data(const TensorProto& proto, std::size_t size);
  Tensor read_elements(const TensorProto& proto);

  std::filesystem::path directory_;
  std::shared_ptr<const MappedFile> model_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> external_;  // by location
};

}  // namespace octet::onnx
