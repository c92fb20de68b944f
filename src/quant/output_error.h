#pragma once
#include "quant/runners.h"

namespace octet::quant {

// Σ over samples of |found - expected|² / |expected|²: a sample counts the same whether its values are large
// or small.
double relative_error(const Tensor& found, const Tensor& expected);

// How far the outputs of quantized graphs are from those of the float one, relative to their size, summed
// over samples; of classes, the share that is another.
class OutputError {
 public:
  OutputError(const Graph& floats, const CalibrationSample& sample, ThreadPool& pool);
  double of(const Graph& quantized) const;
  // For one part of the sample, of a graph that has made some of the outputs.
  double of_part(std::size_t part, const std::vector<ValueId>& outputs, const TensorRunner& found) const;

 private:
  const CalibrationSample& sample_;
  ThreadPool& pool_;
  std::vector<std::map<ValueId, Tensor>> expected_;  // for each part of the sample
};

}  // namespace octet::quant
