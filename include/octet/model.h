#pragma once
#include <map>
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

// Which files make the model, when there are several models in a directory, or when parameters are in a file
// of another name. Empty: found by their names.
struct LoadOptions {
  std::string model_file = {};    // in the directory
  std::string weights_file = {};  // beside the model's, or an absolute path
  // By the name of an input (without a name: the first), what to take in place of the shape that the file
  // declares: files may declare none, or one that no longer holds.
  std::map<std::string, std::vector<std::int64_t>> input_shapes = {};
  bool operator==(const LoadOptions&) const = default;
};

// How a model is written. Empty: as the format usually calls its files.
struct SaveOptions {
  std::string format = "paddle";
  std::string model_file = {}, weights_file = {};
  // Of ONNX: the opset (0: that of an unchanged file, else 17), and for which runtimes the quantized form is
  // made: cpu (ONNX Runtime, OpenVINO), tensorrt, or common, which all of them take.
  int opset = 0;
  std::string target = "cpu";
  bool operator==(const SaveOptions&) const = default;
};

// A model in memory. Copies share it; it does not change.
//
//   octet::Model model = octet::Model::load("ch_PP-OCRv4_det_infer");
//   model.save("copy");
class Model {
 public:
  // `path` is a directory, a model file, or the beginning of its name ("dir/inference"); its content tells
  // the format. The parameters are mapped, not copied.
  static Model load(const std::string& path, const LoadOptions& options = {});
  explicit Model(std::shared_ptr<const Graph> graph);

  // Writes the model into `directory`, which is made if need be.
  void save(const std::string& directory, const SaveOptions& options = {}) const;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  bool is_quantized() const;
  std::string dump() const;  // the graph as text

  const std::shared_ptr<const Graph>& graph() const { return graph_; }

 private:
  std::shared_ptr<const Graph> graph_;
};

}  // namespace octet
