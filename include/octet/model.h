#pragma once
#include <memory>
#include <string>
#include <vector>

#include "octet/dtype.h"
#include "octet/error.h"

namespace octet {

struct Graph;  // the inside of a model; not part of the public interface

struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;  // -1 where only a run decides
};

// Which files of a directory make the model. Empty: found by their names.
struct ModelFiles {
  std::string model_filename;   // "inference.pdmodel", "__model__", ...
  std::string params_filename;  // "inference.pdiparams", "__params__", ...
};

// A model in memory. Copies share it; it does not change.
//
//   octet::Model model = octet::Model::load("ch_PP-OCRv4_det_infer");
//   model.save("copy");
class Model {
 public:
  // `path` is a directory or a model file. The parameters are mapped, not copied.
  static Model load(const std::string& path, const ModelFiles& files = {});
  explicit Model(std::shared_ptr<const Graph> graph);

  // Writes the model into `directory`, which is made if need be; default names inference.pdmodel,
  // inference.pdiparams.
  void save(const std::string& directory, const ModelFiles& files = {}) const;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  bool is_quantized() const;
  std::string dump() const;  // the graph as text

  const std::shared_ptr<const Graph>& graph() const { return graph_; }

 private:
  std::shared_ptr<const Graph> graph_;
};

}  // namespace octet
