#include "quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/clones.h"
#include "base/error.h"
#include "quant/chunks.h"

namespace octet::quant {

namespace {

OCTET_CLONES void bins_of(const float* x, std::int64_t count, float inverse_width, std::int32_t last,
                          std::int32_t* bins) {
  for (std::int64_t i = 0; i < count; ++i) {
    auto bin = static_cast<std::int32_t>(std::fabs(x[i]) * inverse_width);
    bins[i] = bin < last ? bin : last;
  }
}

int exponent_above(float magnitude) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  return exponent;
}

}  // namespace

void GrowingHistogram::grow(int exponent) {
  if (counts_.empty()) counts_ = Counts(kBins);
  if (exponent_ == kEmpty) exponent_ = exponent;
  for (; exponent_ < exponent; ++exponent_) {
    bool nothing = true;
    for (std::size_t i = 0; i < kBins / 2; ++i) {
      std::int64_t both = counts_[2 * i] + counts_[2 * i + 1];
      counts_.set(i, both);
      nothing = nothing && both == 0;
    }
    for (std::size_t i = kBins / 2; i < kBins; ++i) counts_.set(i, 0);
    if (nothing) exponent_ = exponent - 1;
  }
}

void GrowingHistogram::add(std::span<const float> values, float abs_max, ThreadPool& pool) {
  if (values.empty()) return;
  // Zeros fit into any range, so a batch of them does not choose one.
  if (abs_max > 0) grow(std::max(exponent_above(abs_max), -120));
  if (counts_.empty()) counts_ = Counts(kBins);
  if (abs_max <= 0) return counts_.add(0, static_cast<std::int64_t>(values.size()));
  float inverse_width = std::ldexp(static_cast<float>(kBins), -exponent_);
  auto count_into = [&](std::span<const float> part, auto& counts) {
    std::int32_t bins[512];
    for (std::size_t at = 0; at < part.size(); at += 512) {
      std::size_t count = std::min<std::size_t>(512, part.size() - at);
      bins_of(part.data() + at, static_cast<std::int64_t>(count), inverse_width, kBins - 1, bins);
      for (std::size_t i = 0; i < count; ++i) counts.increment(static_cast<std::size_t>(bins[i]));
    }
  };
  // Tables of their own for several threads are worth it only for large tensors.
  if (values.size() < 2 * kBins || pool.threads() == 1) return count_into(values, counts_);
  std::int64_t chunks = chunks_of(values.size()), tasks = pool.threads();
  std::mutex mutex;
  pool.parallel_for(tasks, [&](std::int64_t task) {
    Counts counts(kBins);
    for (std::int64_t c = task; c < chunks; c += tasks) count_into(chunk(values, c), counts);
    std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < kBins; ++i) counts_.add(i, counts[i]);
  });
}

void GrowingHistogram::merge(const GrowingHistogram& other) {
  if (other.counts_.empty()) return;
  if (counts_.empty()) counts_ = Counts(kBins);
  GrowingHistogram theirs = other;
  if (other.exponent_ != kEmpty) grow(other.exponent_);
  if (exponent_ != kEmpty) theirs.grow(exponent_);
  for (std::size_t i = 0; i < kBins; ++i) counts_.add(i, theirs.counts_[i]);
}

Histogram GrowingHistogram::rebin(double low, double high, int bins) const {
  Histogram result{low, high, std::vector<double>(static_cast<std::size_t>(bins), 0.0)};
  if (counts_.empty()) return result;
  double width = exponent_ == kEmpty ? 0 : std::ldexp(1.0, exponent_) / kBins;
  double factor = high > low ? bins / (high - low) : 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    const std::int64_t count = counts_[i];
    if (count == 0) continue;
    double bin = ((static_cast<double>(i) + 0.5) * width - low) * factor;
    auto at = static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins - 1)));
    result.counts[at] += static_cast<double>(count);
  }
  return result;
}

std::int64_t GrowingHistogram::total() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) total += counts_[i];
  return total;
}

double GrowingHistogram::share_above(double limit) const {
  if (counts_.empty() || exponent_ == kEmpty) return 0;
  double width = std::ldexp(1.0, exponent_) / kBins;
  std::int64_t above = 0;
  for (std::size_t i = kBins; i-- > 0 && (static_cast<double>(i) + 0.5) * width > limit;) above += counts_[i];
  return static_cast<double>(above) / static_cast<double>(total());
}

double Histogram::share_above(double limit) const {
  double above = 0, total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    if (low + (static_cast<double>(i) + 0.5) * width() > limit) above += counts[i];
  }
  return total > 0 ? above / total : 0;
}

// Most bins are empty: -n stands for n of these.
nlohmann::json GrowingHistogram::to_json() const {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::int64_t count = counts_[i];
    if (count == 0 && !counts.empty() && counts.back() < 0)
      --counts.back();
    else
      counts.push_back(count == 0 ? -1 : count);
  }
  return {{"exponent", exponent_}, {"counts", std::move(counts)}};
}

GrowingHistogram GrowingHistogram::from_json(const nlohmann::json& json) {
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 44;  // whose sum over all bins does not overflow
  GrowingHistogram histogram;
  histogram.exponent_ = json.at("exponent").get<int>();
  auto counts = json.at("counts").get<std::vector<std::int64_t>>();
  bool sensible = histogram.exponent_ == kEmpty || std::abs(histogram.exponent_) <= 128;
  if (!counts.empty()) histogram.counts_ = Counts(kBins);
  std::int64_t at = 0;
  for (std::int64_t count : counts) {
    sensible = sensible && count <= kMaxCount && count >= at - kBins && at < kBins;
    if (!sensible) fail("a histogram makes no sense");
    if (count > 0) histogram.counts_.set(static_cast<std::size_t>(at), count);
    at += count > 0 ? 1 : -count;
  }
  return histogram;
}

void add_to(Histogram& histogram, std::span<const float> values) {
  const auto bins = static_cast<std::int64_t>(histogram.counts.size());
  double low = histogram.low, range = histogram.high - histogram.low;
  auto edge = [&](std::int64_t i) {  // numpy.linspace's
    return i == bins ? histogram.high : static_cast<double>(i) * (range / static_cast<double>(bins)) + low;
  };
  for (float value : values) {
    double x = static_cast<double>(std::fabs(value));
    if (!(x >= low && x <= histogram.high)) continue;
    auto i = range > 0 ? static_cast<std::int64_t>((x - low) / range * static_cast<double>(bins)) : 0;
    i = std::min(i, bins - 1);
    if (x < edge(i))
      --i;
    else if (i != bins - 1 && x >= edge(i + 1))
      ++i;
    histogram.counts[static_cast<std::size_t>(i)] += 1;
  }
}

}  // namespace octet::quant
