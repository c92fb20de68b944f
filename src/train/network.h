#pragma once
#include <string>
#include <vector>

#include "comm/comm.h"
#include "graph/graph.h"
#include "quant/fake_quant.h"
#include "train/ops.h"
#include "train/options.h"
#include "train/precision.h"

namespace octet::train {

// A parameter, or a running statistic, of a network.
struct Weight {
  std::string name;
  ValueId id = kNoValue;
  at::Tensor tensor;
  bool is_range = false;   // the learned range of a fake_quant node
  bool is_frozen = false;  // stays as it is
};

// A graph on libtorch. Its constants that can be learned, ranges of trained fake_quant nodes included, become
// parameters with gradients; the means and variances of batch norms and the moving averages of fake_quant
// nodes become statistics that training keeps up to date.
//
//   Network network(build_model("resnet18", {.num_classes = 10}), at::kCPU);
//   network.training = true;
//   at::Tensor loss = at::cross_entropy_loss(network.forward(pixels), labels);
//   loss.backward();
class Network {
 public:
  // An Error when an op of the graph has no counterpart in libtorch.
  Network(Graph graph, at::Device device);
  Network(Network&&) = default;  // and no copies: tasks point into the graph

  at::Tensor forward(const at::Tensor& x);  // the first output
  // What the values in `wanted` hold after a run; they need not be outputs.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs, const std::vector<ValueId>& wanted);

  bool training = false;
  Step step;
  Precision precision;
  Comm* sync = nullptr;  // batch norms take their statistics over all processes of it

  // Quantization-aware from now on: puts fake_quant nodes into the graph (quant/fake_quant.h). `sample` is
  // run once, in training mode if `training` is set, to begin with sensible ranges.
  void quantize(const QuantOptions& options, const at::Tensor& sample);
  bool is_quantized() const { return is_quantized_; }
  // Batch norms keep the statistics that they have.
  bool freeze_statistics = false;
  // The parameters of these names or globs stay as they are from now on, and so do the statistics of batch
  // norms whose scale is one of them. An Error when one of the globs fits nothing, or all is frozen.
  void freeze(const std::vector<std::string>& globs);

  const Graph& graph() const { return graph_; }
  // The graph with the parameters and statistics as they are now, each a copy.
  Graph bake() const;
  // What is deployed: bake(), and for a quantized network the int8 version of it.
  Graph deployed(bool onnx_format = true) const;

  // Ranges are the last.
  std::vector<Weight>& parameters() { return parameters_; }
  const std::vector<Weight>& parameters() const { return parameters_; }
  // Means and variances of batch norms, then moving averages of fake_quant nodes.
  std::vector<Weight>& statistics() { return statistics_; }
  const std::vector<Weight>& statistics() const { return statistics_; }

 private:
  // What is done at a node.
  struct Task {
    Operation operation = nullptr;        // null: batch_norm
    quant::TrainedLayer layer = {};       // with the fake_quant nodes that run in this one,
    bool is_skipped = false;              // so that they have nothing to do
    std::vector<ValueId> last_uses = {};  // values that nobody needs after it
  };

  void build();  // all below, from the graph
  void add_constant(const Node& node, std::size_t slot, std::vector<Weight>& ranges,
                    std::vector<Weight>& averages);
  at::Tensor batch_norm(const Call& call);
  Cast cast_of(const Node& node, const std::vector<at::Tensor>& inputs) const;  // what it is given
  std::vector<at::Tensor> inputs_of(const Node& node, const std::vector<at::Tensor>& values) const;
  // Reads its inputs from `values` and puts its outputs there; `lowered` has what is in 16 bits already.
  void run(const Node& node, const Task& task, std::vector<at::Tensor>& values,
           std::vector<at::Tensor>& lowered);

  Graph graph_;
  at::Device device_;
  std::vector<Weight> parameters_, statistics_;
  std::vector<Task> tasks_;        // one per node
  std::vector<int> weight_of_;     // for each value, its place among the parameters, or -1
  std::vector<at::Tensor> fixed_;  // for each value, the constant that is never learned
  bool is_quantized_ = false;
};

// Whether training may change this constant of a graph.
bool is_trainable(const Graph& graph, ValueId id);

}  // namespace octet::train
