#include "octet/model.h"

#include "base/error.h"
#include "formats/format.h"
#include "graph/op_table.h"

namespace octet {

namespace {

std::vector<TensorInfo> infos(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> list;
  for (ValueId id : ids) list.push_back({graph.value(id).name, graph.value(id).dtype, graph.value(id).shape});
  return list;
}

}  // namespace

Model::Model(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
  check(graph_ != nullptr, "a model needs a graph");
}

Model Model::load(const std::string& path, const LoadOptions& options) {
  return Model(std::make_shared<const Graph>(load_model(path, options)));
}

void Model::save(const std::string& directory, const SaveOptions& options) const {
  save_model(*graph_, directory, options);
}

std::vector<TensorInfo> Model::inputs() const {
  return infos(*graph_, graph_->inputs);
}

std::vector<TensorInfo> Model::outputs() const {
  return infos(*graph_, graph_->outputs);
}

bool Model::is_quantized() const {
  return octet::is_quantized(*graph_);
}

std::string Model::dump() const {
  return octet::dump(*graph_);
}

}  // namespace octet
