#pragma once
#include "quant/progress.h"
#include "quant/runners.h"

namespace octet::quant {

// What takes back the shift of a tensor, per channel, as far as a few samples can tell: a mean that differs
// much from sample to sample counts less (it is shrunk as James and Stein do).
class ShiftEstimate {
 public:
  using Means = std::vector<std::vector<double>>;  // [sample][channel]
  static Means means_of(const Tensor& tensor);     // channels are dim 1 of images, the last one of others

  void add(const Means& expected, const Means& found);
  std::vector<double> result() const;
  bool empty() const { return rows_.empty(); }  // nothing is known

 private:
  Means rows_;
};

// What takes back the shift of each output channel that quantizing brings, by the layers' outputs.
std::map<ValueId, std::vector<double>> find_corrections(const Graph& graph, const Decisions& decisions,
                                                        const CalibrationSample& sample, ThreadPool& pool,
                                                        const Progressed& progress);

}  // namespace octet::quant
