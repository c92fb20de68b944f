#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.h"
#include "formats/paddle_common/params.h"
#include "graph/graph.h"

// What a graph was when it was read: what is still the same is written back as the files have it.
namespace octet::paddle {

struct AsRead : Source {
  std::shared_ptr<const MappedFile> model_file;
  std::shared_ptr<const MappedFile> params_file;  // null: none, or one file a parameter
  std::map<std::string, Param, std::less<>> params;

  // Values are compared by name, since passes may number them anew. Node::source counts in `nodes`.
  std::vector<Node> nodes;
  std::vector<std::string> value_names;
  std::vector<std::string> inputs, outputs;

  void remember_names(const Graph& graph);  // of values, inputs and outputs
  void release_memory() const override {
    if (params_file) params_file->drop_pages();
  }
};

// The names of a model's parameters in the order of their records; an Error when two are the same.
std::vector<std::string> sorted_names(std::vector<std::string> names);
// Fills params and params_file: from the file of all parameters, or from one file for each, named after it.
// The names are sorted.
void read_model_params(const ModelPaths& paths, const std::vector<std::string>& names, AsRead& as_read);

// Compares a graph with what was read.
class Changes {
 public:
  // `as_read` may be null: then everything is new.
  Changes(const Graph& graph, const AsRead* as_read) : graph_(graph), as_read_(as_read) {}

  bool none() const;
  bool is_as_read(const Node& node) const;
  // Whether the nodes that were read as `first` and the `count` behind it, of which the one at `index` is
  // one, are still the same, and stand together.
  bool are_as_read(std::size_t index, std::size_t first, std::size_t count) const;
  bool is_as_read(const Value& constant) const;
  const Param* original_param(std::string_view name) const;  // null when there was none of that name

 private:
  bool same_names(const std::vector<ValueId>& now, const std::vector<ValueId>& then) const;
  bool same_names(const std::vector<ValueId>& now, const std::vector<std::string>& then) const;

  const Graph& graph_;
  const AsRead* as_read_;
};

}  // namespace octet::paddle
