#pragma once
#include <functional>
#include <map>

#include "quant/decisions.h"
#include "quant/sample.h"
#include "runtime/executor.h"

// Single layers of the float graph, run on a few samples, to see what quantizing does to their outputs.
namespace octet::quant {

// Is told how much of a stage is done.
using Progressed = std::function<void(std::int64_t done, std::int64_t total)>;

// Runs `graph` and gives some of its tensors.
class TensorRunner {
 public:
  TensorRunner(const Graph& graph, const std::vector<ValueId>& wanted, ThreadPool& pool);
  // The tensors are valid until the next run.
  const Tensor& operator[](ValueId id) const { return tensors_.at(id); }
  void run(const std::vector<Tensor>& inputs);

 private:
  std::vector<ValueId> wanted_;
  Session session_;
  std::map<ValueId, Tensor> tensors_;
};

// A convolution or product without its bias, with these weights and with quantized inputs.
class LayerRunner {
 public:
  LayerRunner(const Graph& graph, const Layer& layer, const Tensor& weight, int bits, ThreadPool& pool);
  // Valid until the next run.
  Tensor run(const Tensor& x, float threshold);

 private:
  Session session_;
};

// Makes them when they are asked for, with quantized weights, and keeps them.
class LayerRunners {
 public:
  LayerRunners(const Graph& graph, const std::map<ValueId, QuantizedWeight>& weights, int bits,
               ThreadPool& pool)
      : graph_(graph), weights_(weights), bits_(bits), pool_(pool) {}
  LayerRunner& operator()(const Layer& layer);

 private:
  const Graph& graph_;
  const std::map<ValueId, QuantizedWeight>& weights_;
  int bits_;
  ThreadPool& pool_;
  std::map<int, std::unique_ptr<LayerRunner>> runners_;
};

// For each tensor the candidate that changes the outputs of the layers that read it least; where no layer
// reads it, the tensor itself.
std::map<ValueId, Choice> choose_thresholds(const Graph& graph, const Decisions& decisions,
                                            const std::map<ValueId, std::vector<Choice>>& candidates,
                                            const Sample& sample, ThreadPool& pool,
                                            const Progressed& progress);

// What takes back the shift of a tensor, a channel, as far as a few samples can tell: a mean that differs
// much from sample to sample counts less (it is shrunk as James and Stein do).
class ShiftEstimate {
 public:
  using Means = std::vector<std::vector<double>>;  // [sample][channel]
  static Means means_of(const Tensor& tensor);     // channels are dim 1 of images, the last one of others

  void add(const Means& expected, const Means& found);
  std::vector<double> result() const;

 private:
  Means rows_;
};

// What takes back the shift of each output channel that quantizing brings, by the layers' outputs.
std::map<ValueId, std::vector<double>> find_corrections(const Graph& graph, const Decisions& decisions,
                                                        const Sample& sample, ThreadPool& pool,
                                                        const Progressed& progress);

// How far the outputs of quantized graphs are from those of the float one, relative to their size, summed
// over samples; of classes, the share that is another.
class OutputError {
 public:
  OutputError(const Graph& floats, const Sample& sample, ThreadPool& pool);
  double of(const Graph& quantized) const;
  // For one part of the sample, of the rest of a graph, which computes some of the outputs from other inputs.
  double of_part(std::size_t part, const Graph& rest, const std::vector<Tensor>& inputs) const;

 private:
  double error_of(std::size_t part, const Graph& quantized, const TensorRunner& found) const;

  const Sample& sample_;
  ThreadPool& pool_;
  std::vector<std::map<ValueId, Tensor>> expected_;  // for each part of the sample
};

// What becomes of a tensor that is quantized.
Tensor quantized_values(const Tensor& x, float threshold, int bits);

// How much of tensors is left when they are quantized.
std::map<ValueId, double> tensor_sqnr(const Graph& graph, const Decisions& decisions,
                                      const std::vector<ValueId>& tensors, const Sample& sample,
                                      ThreadPool& pool);

}  // namespace octet::quant
