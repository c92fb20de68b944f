#include "formats/paddle/format.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "base/journal.h"
#include "formats/paddle/model_io.h"
#include "formats/paddle/state_dict.h"
#include "formats/paddle_common/op_map.h"

namespace octet::paddle {
namespace fs = std::filesystem;

namespace {

fs::path weights_beside(const fs::path& model) {
  if (model.extension() == ".pdmodel") return fs::path(model).replace_extension(".pdiparams");
  if (model.filename() == "__model__") return model.parent_path() / "__params__";
  return fs::path(model.string() + ".pdiparams");
}

// The only model of a directory, or the one with a name that is looked for first; empty when there is none.
fs::path find_in(const fs::path& directory) {
  finish_commit(directory);
  for (const char* name : {"inference.pdmodel", "model.pdmodel", "__model__"})
    if (file_exists(directory / name)) return directory / name;
  std::vector<std::string> found;
  for (const fs::path& path : list_folder(directory))
    if (path.extension() == ".pdmodel") found.push_back(path.filename().string());
  if (found.size() > 1)
    fail("{}: has several models ({}); name the file of one", directory.string(), fmt::join(found, ", "));
  return found.empty() ? fs::path() : directory / found.front();
}

// A ProgramDesc begins with its first block, and that with its number: 0a LENGTH 08.
bool begins_like_program(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view content = as_text(file.bytes());
  std::size_t at = 1;
  while (at < content.size() && at < 10 && (content[at] & 0x80)) ++at;
  return content.size() > at + 1 && content[0] == 0x0a && content[at + 1] == 0x08;
}

std::optional<ModelPaths> recognise(const fs::path& path, const LoadOptions& options) {
  fs::path model = path;
  if (fs::is_directory(path)) {
    model = options.model_file.empty() ? find_in(path) : path / options.model_file;
    // Also the beginning of a file's name, of which there may be a directory, too.
    if (model.empty()) model = fs::path(path) += ".pdmodel";
    if (options.model_file.empty() && !file_exists(model)) return std::nullopt;
  } else if (!file_exists(path)) {
    model += ".pdmodel";
    if (path.empty() || !file_exists(model)) return std::nullopt;
  }
  if (!file_exists(model)) fail("{}: no such file", model.string());
  if (model.extension() == ".pdiparams" || model.filename() == "__params__")
    fail("{}: is a parameter file; name the model file or the directory", model.string());
  const bool is_named = model.extension() == ".pdmodel" || model.filename() == "__model__";
  if (!is_named && (!fs::is_regular_file(whole_file(model)) || !begins_like_program(model)))
    return std::nullopt;
  const fs::path weights =
      options.weights_file.empty() ? weights_beside(model) : model.parent_path() / options.weights_file;
  if (!options.weights_file.empty() && !file_exists(weights)) fail("{}: no such file", weights.string());
  return ModelPaths{model, weights};
}

}  // namespace

Format format() {
  return {.name = "paddle",
          .models = "Paddle inference models (*.pdmodel, __model__)",
          .model_file = "inference.pdmodel",
          .weights_file = "inference.pdiparams",
          .recognise = recognise,
          .load = [](const ModelPaths& paths, const LoadOptions&) { return load_model(paths); },
          .save = [](AtomicFiles& files, const Graph& graph, const ModelPaths& paths,
                     const SaveOptions&) { add_model(files, graph, paths); },
          .load_state = load_state_dict,
          .save_state = add_state_dict,
          .op_type = written_type,
          .has_op_type = has_type};
}

}  // namespace octet::paddle
