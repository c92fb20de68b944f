#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/paddle/params.h"
#include "formats/paddle/program.h"
#include "graph/graph.h"

namespace octet::paddle {

// The files that a graph was read from, and the graph as it was then: what is still the same is written back
// as it was.
struct PaddleSource : Source {
  std::shared_ptr<const MappedFile> model_file;
  std::shared_ptr<const MappedFile> params_file;  // null: none, or one file a parameter
  Program program;
  std::map<std::string, Param, std::less<>> params;

  // As read. Values are compared by name, since passes may number them anew.
  std::vector<Node> nodes;
  std::vector<std::string> value_names;
  std::vector<std::string> inputs, outputs;
  std::vector<int> op_of_node;       // index into program.ops
  std::vector<bool> has_file_names;  // whether all values of the node have the names that the file uses

  void release_memory() const override {
    if (params_file) params_file->drop_pages();
  }
};

}  // namespace octet::paddle
