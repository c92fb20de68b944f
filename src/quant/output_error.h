#pragma once
#include "quant/runners.h"

namespace octet::quant {

// Σ over samples of |found - expected|² / |expected|²: a sample counts the same whether its values are large
// or small.
double relative_error(const Tensor& found, const Tensor& expected);

// What a model is judged by: its outputs, and where an output is a softmax or an arg_max, the scores before
// it, at every place of the picture. A probability near 0 or 1 hides what becomes of the scores, a class even
// more.
std::vector<ValueId> score_tensors(const Graph& graph);

// How far these are in quantized graphs from those of the float one, relative to their size, summed over
// samples; of whole numbers, the share that is another.
class OutputError {
 public:
  OutputError(const Graph& floats, const CalibrationSample& sample, ThreadPool& pool);
  double of(const Graph& quantized) const;
  // For one part of the sample, of a graph that has made some of the tensors.
  double of_part(std::size_t part, const std::vector<ValueId>& tensors, const TensorRunner& found) const;
  const std::vector<ValueId>& tensors() const { return tensors_; }

 private:
  const CalibrationSample& sample_;
  ThreadPool& pool_;
  const std::vector<ValueId> tensors_;
  std::vector<std::map<ValueId, Tensor>> expected_;  // for each part of the sample
};

}  // namespace octet::quant
