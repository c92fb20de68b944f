#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "tensor/tensor.h"

// The few pictures of the calibration data that decisions are tried on.
namespace octet::quant {

// Gives the inputs of batch `index`, which rises in steps of the number of processes; false: there are no
// more.
using Batches = std::function<bool(std::int64_t index, std::vector<Tensor>* inputs)>;

// Inputs of the model, in parts that are small enough to keep every tensor of a run in memory.
using CalibrationSample = std::vector<std::vector<Tensor>>;

std::int64_t pictures_in(const std::vector<Tensor>& inputs);  // of a batch or part: its first dimension
std::int64_t pictures_in(const CalibrationSample& sample);

// Whether all inputs of a batch have a row for each picture, so that it can be cut apart.
bool can_cut(const std::vector<Tensor>& inputs);
// A copy of some of the pictures of a batch.
Tensor cut(const Tensor& batch, std::int64_t first, std::int64_t count);

// Its first parts, with at least `pictures` in them, if there are so many.
CalibrationSample first_of(const CalibrationSample& sample, std::int64_t pictures);

// Copies the first pictures of the batches it is shown, until it has enough; of larger ones than `window`
// pixels a part (window.h), unless that is 0.
class SampleCollector {
 public:
  explicit SampleCollector(std::int64_t limit, std::int64_t window = 0) : limit_(limit), window_(window) {}
  void add(std::int64_t batch, const std::vector<Tensor>& inputs);
  bool is_empty() const { return sample_.empty(); }
  bool is_full() const { return pictures_in(sample_) >= limit_; }
  // The first pictures of all processes together, everywhere: those that one process alone would have kept.
  CalibrationSample gather(Comm& comm) const;

 private:
  std::int64_t limit_, window_;
  CalibrationSample sample_;
  std::vector<std::int64_t> batches_;  // that the parts are of
};

// For a file or another process: the parts, and the batch that each is of. A line of JSON with the shapes
// and types, and the values behind it.
std::string sample_to_bytes(const CalibrationSample& sample, const std::vector<std::int64_t>& batches);
std::vector<std::pair<std::int64_t, std::vector<Tensor>>> sample_from_bytes(std::string_view bytes);

}  // namespace octet::quant
