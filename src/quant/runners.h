#pragma once
#include <memory>

#include "quant/calibration_sample.h"
#include "quant/decisions.h"
#include "runtime/executor.h"

// Parts of the float graph, run on a few pictures, to see what quantizing does to them.
namespace octet::quant {

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

// A convolution or product without its bias, with these weights and with quantized inputs, in the integer
// kernels of the deployed model.
class LayerRunner {
 public:
  LayerRunner(const Graph& graph, const Layer& layer, const QuantizedWeight& weight, int bits,
              ThreadPool& pool);
  // Valid until the next run.
  Tensor run(const Tensor& x, float threshold);

 private:
  int bits_;
  ThreadPool& pool_;
  Session session_;  // for a threshold of 1, by which the result is scaled
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

// What the layers read and make, and `tensors`.
std::vector<ValueId> layer_tensors(const Graph& graph, const InsertionPoints& points,
                                   std::set<ValueId> tensors = {});

// What becomes of a tensor that is quantized.
Tensor fake_quantized(const Tensor& x, const Quantization& how);

}  // namespace octet::quant
