#include "formats/paddle/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/journal.h"

namespace octet::paddle {
namespace fs = std::filesystem;

namespace {

fs::path params_beside(const fs::path& model) {
  if (model.extension() == ".pdmodel") return fs::path(model).replace_extension(".pdiparams");
  if (model.filename() == "__model__") return model.parent_path() / "__params__";
  return fs::path(model.string() + ".pdiparams");
}

fs::path find_in(const fs::path& directory) {
  finish_commit(directory);
  for (const char* name : {"inference.pdmodel", "model.pdmodel", "__model__"})
    if (file_exists(directory / name)) return directory / name;
  std::vector<std::string> found;
  bool has_json = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".pdmodel") found.push_back(entry.path().filename().string());
    if (entry.path().extension() == ".json" &&
        fs::exists(fs::path(entry.path()).replace_extension(".pdiparams")))
      has_json = true;
  }
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return directory / found.front();
  if (found.size() > 1)
    fail("{}: has several models ({}); choose one with --model_filename", directory.string(),
         fmt::join(found, ", "));
  if (has_json)
    fail(
        "{}: holds a Paddle 3 json model, which octet does not read yet; export it with "
        "FLAGS_enable_pir_api=0 to get a .pdmodel",
        directory.string());
  fail("{}: no model in this directory (looked for inference.pdmodel, model.pdmodel, __model__, *.pdmodel)",
       directory.string());
}

}  // namespace

ModelPaths find_model(const fs::path& path, const ModelFiles& files) {
  if (path.empty()) fail("no model given; name a directory or a .pdmodel file");
  if (!file_exists(path)) fail("{}: no such file or directory", path.string());
  ModelPaths paths;
  if (!fs::is_directory(path)) {
    paths.model = path;
    if (path.extension() == ".pdiparams" || path.filename() == "__params__")
      fail("{}: is a parameter file; name the model file or the directory", path.string());
    if (path.extension() == ".json")
      fail(
          "{}: is a Paddle 3 json model, which octet does not read yet; export it with "
          "FLAGS_enable_pir_api=0 to get a .pdmodel",
          path.string());
  } else if (!files.model_filename.empty()) {
    paths.model = path / files.model_filename;
    if (!file_exists(paths.model)) fail("{}: no such file", paths.model.string());
  } else {
    paths.model = find_in(path);
  }
  paths.params = files.params_filename.empty() ? params_beside(paths.model)
                                               : paths.model.parent_path() / files.params_filename;
  if (!files.params_filename.empty() && !file_exists(paths.params))
    fail("{}: no such file", paths.params.string());
  return paths;
}

}  // namespace octet::paddle
