#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "graph/graph.h"
#include "octet/model.h"
#include "tensor/state_dict.h"

// File formats of models. A format is a folder here and a row of the table in format.cc; docs/add-a-format.md
// says how to add one.
//
//   Graph graph = load_model("mobilenet_v3_small_infer");
//   save_model(graph, "copy");
namespace octet {

// The files of a model.
struct ModelPaths {
  std::filesystem::path model;
  // Its parameters, where they have a file of their own; a model without parameters may have none there.
  std::filesystem::path weights;
};

struct Format {
  std::string_view name;    // for SaveOptions::format
  std::string_view models;  // for messages: "Paddle inference models (*.pdmodel, __model__)"
  std::string_view model_file, weights_file;  // what files are called that are saved without a name

  // The files of the model that a path means: a directory, a file, or the beginning of a file's name. Nothing
  // when they are of another format, by their content; an Error when they are of this one but not complete.
  std::optional<ModelPaths> (*recognise)(const std::filesystem::path& path, const LoadOptions& options);
  // What was read and not changed is saved as it was.
  Graph (*load)(const ModelPaths& paths, const LoadOptions& options);
  void (*save)(AtomicFiles& files, const Graph& graph, const ModelPaths& paths, const SaveOptions& options);

  // Whether a file with this content is surely of this format, whatever its name says. Null: names decide.
  bool (*owns)(std::string_view content) = nullptr;

  // Checkpoints: parameters by name. Null: the format has none.
  StateDict (*load_state)(const std::filesystem::path& path) = nullptr;
  void (*save_state)(AtomicFiles& files, const std::filesystem::path& path, const StateDict& state) = nullptr;

  // What the format calls a node's op, and whether it has one of that name. Null: what octet calls it.
  std::string (*op_type)(const Graph& graph, const Node& node) = nullptr;
  bool (*has_op_type)(std::string_view type) = nullptr;
};

std::span<const Format> formats();
const Format& find_format(std::string_view name);  // an Error that lists them when there is none

// Which files `path` means. An Error says what it looks like when no format recognises it.
ModelPaths find_model(const std::filesystem::path& path, const LoadOptions& options = {});
Graph load_model(const std::filesystem::path& path, const LoadOptions& options = {});

// Adds the model's files, to be committed with what else belongs to it.
ModelPaths add_model(AtomicFiles& files, const Graph& graph, const std::filesystem::path& directory,
                     const SaveOptions& options = {});
// The model alone, in a directory that is made if need be.
void save_model(const Graph& graph, const std::filesystem::path& directory, const SaveOptions& options = {});

// Checkpoints. Tensors are views of the mapped file.
StateDict load_state_dict(const std::filesystem::path& path);
void add_state_dict(AtomicFiles& files, const std::filesystem::path& path, const StateDict& state);
void save_state_dict(const std::filesystem::path& path, const StateDict& state);

// Users name ops as Paddle does, whichever format their model has.
std::string op_type(const Graph& graph, const Node& node);
bool is_op_type(std::string_view type);

}  // namespace octet
