#include "formats/paddle3/format.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "base/journal.h"
#include "formats/paddle3/model_io.h"
#include "formats/paddle3/op_map.h"
#include "formats/paddle3/program.h"

namespace octet::paddle3 {
namespace fs = std::filesystem;

namespace {

bool is_program(const fs::path& path) {
  return fs::is_regular_file(whole_file(path)) && begins_like_program(as_text(MappedFile(path).bytes()));
}

// The only model of a directory, or the one with a name that is looked for first; empty when there is none.
// A name that Paddle itself looks for counts before those of older files, any other one behind them.
fs::path find_in(const fs::path& directory) {
  finish_commit(directory);
  for (const char* name : {"inference.json", "model.json", "__model__.json"})
    if (file_exists(directory / name) && is_program(directory / name)) return directory / name;
  std::vector<std::string> found;
  for (const fs::path& path : list_folder(directory)) {
    if (path.extension() == ".pdmodel" || path.filename() == "__model__") return {};
    if (path.extension() == ".json" && is_program(path)) found.push_back(path.filename().string());
  }
  if (found.size() > 1)
    fail("{}: has several models ({}); name the file of one", directory.string(), fmt::join(found, ", "));
  return found.empty() ? fs::path() : directory / found.front();
}

std::optional<ModelPaths> recognise(const fs::path& path, const LoadOptions& options) {
  fs::path model = path;
  if (fs::is_directory(path)) {
    model = options.model_file.empty() ? find_in(path) : path / options.model_file;
    // Also the beginning of a file's name, of which there may be a directory, too.
    if (model.empty()) model = fs::path(path) += ".json";
  } else if (!file_exists(path)) {
    model += ".json";
  }
  if (path.empty() || !file_exists(model) || !is_program(model)) return std::nullopt;
  const fs::path weights = options.weights_file.empty() ? fs::path(model).replace_extension(".pdiparams")
                                                        : model.parent_path() / options.weights_file;
  if (!options.weights_file.empty() && !file_exists(weights)) fail("{}: no such file", weights.string());
  return ModelPaths{model, weights};
}

}  // namespace

Format format() {
  // Tables of ops are made with the row, when the program starts, and not while a file is read: memory may be
  // short then.
  row_to_read("1.");
  row_to_write("");
  return {.name = "paddle3",
          .models = "Paddle 3 inference models (*.json)",
          .model_file = "inference.json",
          .weights_file = "inference.pdiparams",
          .recognise = recognise,
          .load = [](const ModelPaths& paths, const LoadOptions&) { return load_model(paths); },
          .save = [](AtomicFiles& files, const Graph& graph, const ModelPaths& paths,
                     const SaveOptions&) { add_model(files, graph, paths); }};
}

}  // namespace octet::paddle3
