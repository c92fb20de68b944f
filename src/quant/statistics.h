#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/threads.h"

// What calibration remembers of a tensor: it sees batch after batch and keeps little. Statistics of parts of
// the data can be merged, in any order, to exactly those of the whole.
namespace octet::quant {

// How often magnitudes |x| fall into bins of equal width over [low, high]; the last bin is closed.
struct Histogram {
  double low = 0, high = 0;
  std::vector<double> counts;

  double width() const { return (high - low) / static_cast<double>(counts.size()); }
  double share_above(double limit) const;  // of the magnitudes
};

constexpr int kCoarseBins = 2048;  // what thresholds are searched on, as PaddleSlim does

// Counts that are nearly all small: 32 bits each, and what is beyond for the few that need more.
class Counts {
 public:
  explicit Counts(std::size_t size = 0) : low_(size) {}
  std::size_t size() const { return low_.size(); }
  bool empty() const { return low_.empty(); }
  std::int64_t operator[](std::size_t i) const {
    auto it = high_.empty() ? high_.end() : high_.find(i);
    return low_[i] + (it == high_.end() ? 0 : it->second << 32);
  }
  void increment(std::size_t i) {
    if (++low_[i] == 0) ++high_[i];
  }
  void set(std::size_t i, std::int64_t count) {
    low_[i] = static_cast<std::uint32_t>(count);
    high_.erase(i);
    if (count >> 32 != 0) high_[i] = count >> 32;
  }
  void add(std::size_t i, std::int64_t count) {
    if (count != 0) set(i, (*this)[i] + count);
  }

 private:
  std::vector<std::uint32_t> low_;
  std::map<std::size_t, std::int64_t> high_;
};

// Bins over [0, range), where the range is a power of two that doubles, two bins becoming one, whenever a
// larger magnitude comes. So one pass over the data is enough, and the order of the data does not matter.
class GrowingHistogram {
 public:
  void add(std::span<const float> values, float abs_max, ThreadPool& pool);
  void merge(const GrowingHistogram& other);
  // The same counts in other bins, each of ours going to the one that its centre is in.
  Histogram rebin(double low, double high, int bins) const;
  std::int64_t total() const;
  // The share of magnitudes above `limit`.
  double share_above(double limit) const;

  nlohmann::json to_json() const;
  static GrowingHistogram from_json(const nlohmann::json& json);

 private:
  void grow(int exponent);

  // So many that the 2048 bins made of them later are almost those of the data itself, also where they are
  // sparse.
  static constexpr int kBins = 1 << 18;
  int exponent_ = kEmpty;  // range = 2^exponent_
  static constexpr int kEmpty = -1000;
  Counts counts_;
};

// The threshold of one batch with the smallest loss so far.
struct BestThreshold {
  double loss = -1;  // negative: none yet
  double threshold = 0;
  std::int64_t batch = -1;

  // Of equal losses the later batch, and there the larger threshold, wins.
  void offer(const BestThreshold& other);
};

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

// PaddleSlim's histogram of numpy.histogram, for a range that is known beforehand: adds to `histogram`.
void add_to(Histogram& histogram, std::span<const float> values);

}  // namespace octet::quant
