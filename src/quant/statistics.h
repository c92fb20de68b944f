#pragma once
#include "quant/histogram.h"

// What calibration remembers of a tensor: it sees batch after batch and keeps little. Statistics of parts of
// the data can be merged, in any order, to exactly those of the whole.
namespace octet::quant {

// The threshold of one batch with the smallest loss so far.
struct BestThreshold {
  double loss = -1;  // negative: none yet
  double threshold = 0;
  std::int64_t batch = -1;

  // Of equal losses the later batch, and there the larger threshold, wins.
  void offer(const BestThreshold& other);
};

// The fractions of the largest magnitude that mse and emd try.
const std::vector<double>& grid_fractions();

// Which of the more expensive statistics to keep.
struct Wanted {
  bool histogram = true;
  bool errors = true;  // mse, emd and ptf
  bool negatives_are_errors =
      false;  // mse and emd as PaddleSlim has them for its older files: negatives clip to 0
  int bits = 8;
};

class TensorStatistics {
 public:
  // A batch of `samples` equal parts; elements that are not finite are left out and counted. Batches are
  // numbered over all processes.
  void update(std::int64_t batch, std::span<const float> values, std::int64_t samples, const Wanted& wanted,
              ThreadPool& pool);
  void merge(const TensorStatistics& other);

  bool empty() const { return elements == 0; }
  nlohmann::json to_json() const;
  static TensorStatistics from_json(const nlohmann::json& json);

  std::int64_t elements = 0, not_finite = 0;
  float min = 0, max = 0;          // of x
  float abs_min = 0, abs_max = 0;  // of |x|
  GrowingHistogram histogram;
  std::vector<std::pair<std::int64_t, float>>
      averages;  // a batch: the mean over samples of their largest |x|
  BestThreshold mse, emd;
  BestThreshold ptf;  // of the last batch

 private:
  void find_errors(std::int64_t batch, std::span<const float> values, float largest, const Wanted& wanted,
                   ThreadPool& pool);
};

}  // namespace octet::quant
