#pragma once
#include <memory>
#include <string>
#include <vector>

#include "formats/onnx/proto.h"
#include "formats/onnx/tensors.h"
#include "graph/graph.h"

namespace octet::onnx {

// A node that octet can't run, to be written back: its attributes as they are, and the names of the file's
// values that its subgraphs use.
struct ForeignNode {
  std::string_view name, type, domain, overload;
  std::vector<std::string> attributes;  // whole messages
  std::vector<std::string> captured;    // these are the node's last inputs
};

// The file that a graph was read from, and the graph as it was then: as long as that is still the same, the
// file is written back.
struct OnnxSource : Source {
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<TensorFiles> tensors;
  std::filesystem::path directory;
  ModelProto model;
  std::int64_t opset = 0;
  std::vector<ForeignNode> foreign;  // Node::source is an index into it
  Graph as_read;                     // without its source
  bool as_declared = true;           // no input has another shape than the file says

  void release_memory() const override { tensors->drop_pages(); }
};

}  // namespace octet::onnx
