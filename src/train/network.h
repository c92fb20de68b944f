#pragma once
#include <map>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "formats/paddle/state_dict.h"
#include "graph/graph.h"
#include "train/ops.h"
#include "train/precision.h"
#include "train/quantizer.h"

namespace octet::train {

// A parameter, or a running statistic, of a network.
struct Weight {
  std::string name;
  ValueId id = kNoValue;  // kNoValue: a quantizer's, which the graph does not have
  at::Tensor tensor;
};

// A graph on libtorch. Its constants that can be learned become parameters with gradients; the means and
// variances of batch norms become statistics that training keeps up to date.
//
//   Network network(build_model("resnet18", {.num_classes = 10}), at::kCPU);
//   network.training = true;
//   at::Tensor loss = at::cross_entropy_loss(network.forward(pixels), labels);
//   loss.backward();
class Network {
 public:
  // An Error when an op of the graph has no counterpart in libtorch.
  Network(Graph graph, at::Device device);

  at::Tensor forward(const at::Tensor& x);  // the first output
  // What the values in `wanted` hold after a run; they need not be outputs.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs, const std::vector<ValueId>& wanted);

  bool training = false;
  Step step;
  Precision precision;
  Comm* sync = nullptr;  // batch norms take their statistics over all processes of it

  // Quantization-aware from now on. `sample` is run once, in training mode if `training` is set, to begin
  // with sensible ranges; the second reads what a checkpoint has of quantizers, and does nothing if that is
  // nothing.
  void quantize(const QuantOptions& options, const at::Tensor& sample);
  void quantize(const paddle::StateDict& state);
  bool is_quantized() const { return !quantizers_.empty(); }
  // For the checkpoint: ranges and bits of all layers.
  void write_quantizers(paddle::StateDict& state) const;
  // Batch norms keep the statistics that they have.
  bool freeze_statistics = false;

  const Graph& graph() const { return graph_; }
  // The graph with the parameters and statistics as they are now, each a copy.
  Graph bake() const;
  // What is deployed: bake(), and for a quantized network the int8 version of it.
  Graph deployed(bool onnx_format = true) const;

  std::vector<Weight>& parameters() { return parameters_; }
  const std::vector<Weight>& parameters() const { return parameters_; }
  // Means and variances of batch norms, and moving averages of quantizers.
  std::vector<Weight>& statistics() { return statistics_; }

 private:
  at::Tensor batch_norm(const Call& call);
  void add_quantizer(const Node& node, LayerQuantizer quantizer);
  // Reads its inputs from `values` and puts its outputs there; `lowered` has what is in 16 bits already.
  void run(const Node& node, Operation operation, std::vector<at::Tensor>& values,
           std::vector<at::Tensor>& lowered);

  Graph graph_;
  at::Device device_;
  std::vector<Weight> parameters_, statistics_;
  std::vector<Operation> operations_;            // one a node; null: batch_norm
  std::vector<std::vector<ValueId>> last_uses_;  // one a node: values that nobody needs after it
  std::vector<int> weight_of_;                   // for each value, its place among the weights, or -1
  std::vector<at::Tensor> fixed_;                // for each value, the constant that is never learned
  std::map<const Node*, LayerQuantizer> quantizers_;
};

// Whether training may change this constant of a graph.
bool is_trainable(const Graph& graph, ValueId id);

}  // namespace octet::train
