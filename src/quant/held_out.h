#pragma once
#include <set>

#include "quant/calibration_sample.h"

namespace octet::quant {

// The pictures that a quantization is judged on, and that no decision sees: those behind the calibration
// data, or, if there are none, a fifth of it.
class HeldOut {
 public:
  explicit HeldOut(std::int64_t limit, std::int64_t window = 0) : sample_(limit, window) {}

  // Takes these, which are not for calibration; false: there are none, in any process.
  bool take_others(const Batches& others, Comm& comm);

  // Takes a fifth of a batch out of it. Nothing is left of some batches of one picture.
  void take_part(std::int64_t index, std::vector<Tensor>* inputs);

  CalibrationSample gather(Comm& comm) const { return sample_.gather(comm); }

 private:
  SampleCollector sample_;
  std::set<std::int64_t> taken_;  // batches that take_part has seen
};

}  // namespace octet::quant
