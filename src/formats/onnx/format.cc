#include "formats/onnx/format.h"

#include <algorithm>
#include <vector>

#include "base/folder.h"
#include "base/journal.h"
#include "formats/onnx/model_io.h"
#include "formats/onnx/proto.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/writer.h"

namespace octet::onnx {
namespace fs = std::filesystem;

namespace {

// The only model of a directory, or the one with a name that is looked for first; empty when there is none.
fs::path find_in(const fs::path& directory) {
  finish_commit(directory);
  for (const char* name : {"model.onnx", "inference.onnx"})
    if (file_exists(directory / name)) return directory / name;
  std::vector<std::string> found;
  for (const fs::path& path : list_folder(directory))
    if (path.extension() == ".onnx") found.push_back(path.filename().string());
  if (found.size() > 1)
    fail("{}: has several models ({}); name the file of one", directory.string(), fmt::join(found, ", "));
  return found.empty() ? fs::path() : directory / found.front();
}

std::optional<ModelPaths> recognise(const fs::path& path, const LoadOptions& options) {
  fs::path model = path;
  if (fs::is_directory(path)) {
    model = options.model_file.empty() ? find_in(path) : path / options.model_file;
    if (model.empty()) return std::nullopt;
  } else if (!file_exists(path)) {
    model += ".onnx";
    if (path.empty() || !file_exists(model)) return std::nullopt;
  }
  if (!file_exists(model)) return std::nullopt;
  if (model.extension() == ".onnx") return ModelPaths{model, {}};
  if (!fs::is_regular_file(whole_file(model))) return std::nullopt;
  const MappedFile file(model);
  if (!looks_like_model(as_text(file.bytes()))) return std::nullopt;
  return ModelPaths{model, {}};
}

}  // namespace

Format format() {
  // Tables of ops are made with the row, when the program starts, and not while a file is read: memory may be
  // short then.
  find_row("");
  find_writer("");
  return {.name = "onnx",
          .models = "ONNX models (*.onnx)",
          .model_file = "model.onnx",
          .weights_file = "",
          .recognise = recognise,
          .load = load_model,
          .save = add_model,
          .owns = looks_like_model};
}

}  // namespace octet::onnx
