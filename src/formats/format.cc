#include "formats/format.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "base/journal.h"
#include "formats/onnx/format.h"
#include "formats/onnx/tensor_file.h"
#include "formats/paddle/format.h"
#include "formats/paddle3/format.h"
#include "formats/tensor_file.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

// What files look like that octet can't read as models.
struct Other {
  std::string_view ending;  // of their names; "": none of their own
  bool (*begins)(std::string_view content);
  std::string_view what;
};

const Other kOthers[] = {
    {"", [](std::string_view content) { return content.starts_with('{'); },
     "a JSON file, but no Paddle 3 model"},
    {".pdparams", [](std::string_view content) { return content.starts_with('\x80'); },
     "a pickle, such as a checkpoint, which has no network in it; export it as an inference model"},
    {"", [](std::string_view content) { return content.starts_with("PK\x03\x04"); },
     "a zip archive, such as PyTorch writes"},
    {"", [](std::string_view content) { return content.starts_with("\x89HDF"); }, "an HDF5 file"},
    {".tflite", [](std::string_view content) { return content.substr(0, 8).ends_with("TFL3"); },
     "a TensorFlow Lite model"},
};

std::string_view look_at(const fs::path& path) {
  const MappedFile file(path);
  for (const Other& other : kOthers)
    if (other.begins(as_text(file.bytes())) || (!other.ending.empty() && path.extension() == other.ending))
      return other.what;
  return file.bytes().empty() ? "empty" : "no model that octet knows";
}

// What is in a directory without a model.
std::string look_into(const fs::path& directory) {
  for (const fs::path& path : list_folder(directory))
    for (const Other& other : kOthers)
      if (!other.ending.empty() && path.extension() == other.ending)
        return fmt::format("; {} is {}", path.filename().string(), other.what);
  return "";
}

struct Found {
  const Format* format;
  ModelPaths paths;
};

// The format that a file is of by its content alone; null when that does not tell.
const Format* owner_of(const fs::path& path) {
  const MappedFile file(path);
  for (const Format& format : formats())
    if (format.owns && format.owns(as_text(file.bytes()))) return &format;
  return nullptr;
}

// Files declare shapes that no longer hold, or none.
void declare_inputs(Graph& graph, const LoadOptions& options, const fs::path& path) {
  for (const auto& [name, shape] : options.input_shapes) {
    // Without a name it is the first one. (clang does not let lambdas capture structured bindings.)
    auto is_it = [&, wanted = std::string_view(name)](ValueId id) {
      return wanted.empty() || graph.value(id).name == wanted;
    };
    auto found = std::ranges::find_if(graph.inputs, is_it);
    if (found == graph.inputs.end()) {
      std::vector<std::string> names;
      for (ValueId id : graph.inputs) names.push_back(graph.value(id).name);
      fail("{}: has no input '{}'; its inputs are {}", path.string(), name, fmt::join(names, ", "));
    }
    Value& input = graph.value(*found);
    if (!input.shape.empty() && input.shape.size() != shape.size())
      fail("{}: input {} has {} dimensions: {}, not {}", path.string(), input.name, input.shape.size(),
           to_string(input.shape), to_string(shape));
    input.shape = shape;
  }
}

Found recognise(const fs::path& path, const LoadOptions& options) try {
  if (path.empty()) fail("no model given; name a directory or a model file");
  std::string known;
  for (const Format& format : formats()) {
    known += (known.empty() ? "" : ", ") + std::string(format.models);
    if (std::optional<ModelPaths> paths = format.recognise(path, options)) {
      if (const Format* owner = owner_of(paths->model); owner && owner != &format)
        return {owner, {paths->model, {}}};
      return {&format, *paths};
    }
  }
  if (!file_exists(path)) fail("{}: no such file or directory", path.string());
  if (!fs::is_directory(path)) fail("{}: is {}; octet reads {}", path.string(), look_at(path), known);
  if (!options.model_file.empty()) return recognise(path / options.model_file, {});
  fail("{}: no model in this directory{}; octet reads {}", path.string(), look_into(path), known);
} catch (const fs::filesystem_error& error) {  // no access to its folder, links that lead to each other
  fail("{}: {}", error.path1().string(), error.code().message());
}

// What is written by default. Users and their files speak of its ops and checkpoints.
const Format& usual_format() {
  return find_format(SaveOptions().format);
}

}  // namespace

// The table. The first format that recognises a file reads it: Paddle, too, takes the newer files where both
// are there.
std::span<const Format> formats() {
  static const Format kFormats[] = {
      paddle3::format(),
      paddle::format(),
      onnx::format(),
  };
  return kFormats;
}

const Format& find_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  fail("{}: no such file format; octet writes {}", name, fmt::join(names, ", "));
}

ModelPaths find_model(const fs::path& path, const LoadOptions& options) {
  return recognise(path, options).paths;
}

Graph load_model(const fs::path& path, const LoadOptions& options) {
  const Found found = recognise(path, options);
  Graph graph = found.format->load(found.paths, options);
  declare_inputs(graph, options, found.paths.model);
  return graph;
}

ModelPaths add_model(AtomicFiles& files, const Graph& graph, const fs::path& directory,
                     const SaveOptions& options) {
  const Format& format = options.format.empty() ? usual_format() : find_format(options.format);
  const auto in_directory = [&](const std::string& name, std::string_view usual) {
    return name.empty() && usual.empty() ? fs::path() : directory / (name.empty() ? usual : name);
  };
  const ModelPaths paths = {in_directory(options.model_file, format.model_file),
                            in_directory(options.weights_file, format.weights_file)};
  format.save(files, graph, paths, options);
  return paths;
}

void save_model(const Graph& graph, const fs::path& directory, const SaveOptions& options) {
  make_directory(directory);
  AtomicFiles files;
  add_model(files, graph, directory, options);
  files.commit();
}

StateDict load_state_dict(const fs::path& path) {
  return usual_format().load_state(path);
}

void add_state_dict(AtomicFiles& files, const fs::path& path, const StateDict& state) {
  usual_format().save_state(files, path, state);
}

void save_state_dict(const fs::path& path, const StateDict& state) {
  AtomicFiles files;
  add_state_dict(files, path, state);
  files.commit();
}

std::string op_type(const Graph& graph, const Node& node) {
  return usual_format().op_type(graph, node);
}

bool is_op_type(std::string_view type) {
  return usual_format().has_op_type(type);
}

Tensor load_tensor_file(const std::filesystem::path& path) {
  return onnx::load_tensor(path);
}

}  // namespace octet
