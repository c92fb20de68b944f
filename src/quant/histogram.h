#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/threads.h"

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

// PaddleSlim's histogram of numpy.histogram, for a range that is known beforehand: adds to `histogram`.
void add_to(Histogram& histogram, std::span<const float> values);

}  // namespace octet::quant
