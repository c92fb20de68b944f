#include "quant/statistics.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/clones.h"
#include "base/error.h"

namespace octet::quant {

namespace {

constexpr std::int64_t kChunk = 1 << 15;  // elements of a task

std::int64_t chunks_of(std::size_t size) {
  return (static_cast<std::int64_t>(size) + kChunk - 1) / kChunk;
}

std::span<const float> chunk(std::span<const float> values, std::int64_t i) {
  auto begin = static_cast<std::size_t>(i * kChunk);
  return values.subspan(begin, std::min(values.size() - begin, static_cast<std::size_t>(kChunk)));
}

struct Extremes {
  float low = 0, high = 0, smallest = 0;  // smallest: of the magnitudes
  bool finite = true;

  float largest() const { return std::max(std::fabs(low), std::fabs(high)); }  // of the magnitudes
  void join(const Extremes& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    smallest = std::min(smallest, other.smallest);
    finite = finite && other.finite;
  }
};

// In lanes, which the compiler makes vectors of.
OCTET_CLONES Extremes extremes_of(const float* x, std::int64_t count) {
  constexpr int kLanes = 16;
  float low[kLanes], high[kLanes], smallest[kLanes],
      poison[kLanes];  // poison: NaN once an element is not finite
  for (int l = 0; l < kLanes; ++l) low[l] = high[l] = x[0], smallest[l] = std::fabs(x[0]), poison[l] = 0;
  auto look = [&](float value, int l) {
    float magnitude = std::fabs(value);
    low[l] = value < low[l] ? value : low[l];
    high[l] = value > high[l] ? value : high[l];
    smallest[l] = magnitude < smallest[l] ? magnitude : smallest[l];
    poison[l] += value * 0.0f;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) look(x[i + l], l);
  for (; i < count; ++i) look(x[i], 0);
  Extremes result{low[0], high[0], smallest[0], poison[0] == 0};
  for (int l = 1; l < kLanes; ++l) result.join({low[l], high[l], smallest[l], poison[l] == 0});
  return result;
}

OCTET_CLONES void bins_of(const float* x, std::int64_t count, float inverse_width, std::int32_t last,
                          std::int32_t* bins) {
  for (std::int64_t i = 0; i < count; ++i) {
    auto bin = static_cast<std::int32_t>(std::fabs(x[i]) * inverse_width);
    bins[i] = bin < last ? bin : last;
  }
}

// Sums over y, what x becomes when it is quantized: of (x-y)^2, y and y^2.
struct ErrorSums {
  double squared = 0, sum = 0, power = 0;
};

OCTET_CLONES void add_errors(const float* x, std::int64_t count, float threshold, float levels, float low,
                             ErrorSums* sums) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds half to even
  constexpr int kLanes = 16;
  float inverse = levels / threshold, step = threshold / levels;
  float squared[kLanes] = {}, sum[kLanes] = {}, power[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      float q = x[i + lane] * inverse;
      q = q < low ? low : q;
      q = q > levels ? levels : q;
      float y = ((q + kRound) - kRound) * step, e = x[i + lane] - y;
      squared[lane] += e * e;
      sum[lane] += y;
      power[lane] += y * y;
    }
  for (int lane = 0; lane < kLanes; ++lane) {
    sums->squared += static_cast<double>(squared[lane]);
    sums->sum += static_cast<double>(sum[lane]);
    sums->power += static_cast<double>(power[lane]);
  }
  for (; i < count; ++i) {
    float y = std::nearbyint(std::clamp(x[i] * inverse, low, levels)) * step, e = x[i] - y;
    sums->squared += static_cast<double>(e) * static_cast<double>(e);
    sums->sum += static_cast<double>(y);
    sums->power += static_cast<double>(y) * static_cast<double>(y);
  }
}

// Blocks so short that sums in float stay exact enough.
void add_errors(std::span<const float> x, float threshold, float levels, float low, ErrorSums* sums) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t i = 0; i < x.size(); i += kBlock)
    add_errors(x.data() + i, static_cast<std::int64_t>(std::min(kBlock, x.size() - i)), threshold, levels,
               low, sums);
}

// The fractions of a batch's largest magnitude that mse and emd try, accumulated as PaddleSlim does.
std::vector<double> fractions() {
  std::vector<double> result;
  for (double s = 0.3; s <= 1.0; s += 0.02) result.push_back(s);
  return result;
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

void BestThreshold::offer(const BestThreshold& other) {
  if (other.loss < 0) return;
  bool better = loss < 0 || other.loss < loss || (other.loss == loss && other.batch >= batch);
  if (better) *this = other;
}

void TensorStatistics::update(std::int64_t batch, std::span<const float> values, std::int64_t samples,
                              const Wanted& wanted, ThreadPool& pool) {
  if (values.empty()) return;
  if (samples < 1 || values.size() % static_cast<std::size_t>(samples) != 0) samples = 1;
  const std::size_t part = values.size() / static_cast<std::size_t>(samples);
  Extremes all;
  float sum = 0;  // of the samples' largest magnitudes
  auto look = [&] {
    sum = 0;
    for (std::size_t at = 0; at < values.size(); at += part) {
      Extremes one = extremes_of(values.data() + at, static_cast<std::int64_t>(part));
      if (at == 0)
        all = one;
      else
        all.join(one);
      sum += one.largest();
    }
  };
  look();
  std::vector<float> cleaned;
  if (!all.finite) {
    cleaned.assign(values.begin(), values.end());
    std::int64_t before = not_finite;
    for (float& value : cleaned)
      if (!std::isfinite(value)) value = 0, ++not_finite;
    values = cleaned;
    if (not_finite - before == static_cast<std::int64_t>(values.size())) return;
    look();
  }
  bool first = elements == 0;
  float largest = all.largest();
  min = first ? all.low : std::min(min, all.low);
  max = first ? all.high : std::max(max, all.high);
  abs_min = first ? all.smallest : std::min(abs_min, all.smallest);
  abs_max = std::max(abs_max, largest);
  elements += static_cast<std::int64_t>(values.size());
  averages.emplace(std::upper_bound(averages.begin(), averages.end(), std::pair{batch, 0.0f}), batch,
                   sum / static_cast<float>(samples));
  if (wanted.histogram) histogram.add(values, largest, pool);
  if (wanted.errors) find_errors(batch, values, largest, wanted, pool);
}

void TensorStatistics::find_errors(std::int64_t batch, std::span<const float> values, float largest,
                                   const Wanted& wanted, ThreadPool& pool) {
  static const std::vector<double> kFractions = fractions();
  const auto levels = static_cast<float>((1 << (wanted.bits - 1)) - 1);
  const float low = wanted.negatives_are_errors ? 0.0f : -levels - 1;
  const double abs_max = largest > 0 ? static_cast<double>(largest) : 1e-8;
  // The grid, and behind it the four thresholds of ptf, which is for tensors without negatives.
  std::vector<float> thresholds;
  for (double s : kFractions) thresholds.push_back(static_cast<float>(s * abs_max));
  for (double divisor : {8.0, 4.0, 2.0, 1.0}) thresholds.push_back(static_cast<float>(abs_max / divisor));
  const std::size_t grid = kFractions.size();

  std::int64_t chunks = chunks_of(values.size());
  std::vector<ErrorSums> parts(static_cast<std::size_t>(chunks) * thresholds.size());
  std::vector<ErrorSums> exact(static_cast<std::size_t>(chunks));  // of x itself
  pool.parallel_for(chunks, [&](std::int64_t c) {
    std::span<const float> x = chunk(values, c);
    ErrorSums& sums = exact[static_cast<std::size_t>(c)];
    for (float value : x) {
      sums.sum += static_cast<double>(value);
      sums.power += static_cast<double>(value) * static_cast<double>(value);
    }
    // Blocks that stay in the first cache while every threshold is tried.
    constexpr std::size_t kBlock = 4096;
    for (std::size_t at = 0; at < x.size(); at += kBlock)
      for (std::size_t t = 0; t < thresholds.size(); ++t)
        add_errors(x.subspan(at, std::min(kBlock, x.size() - at)), thresholds[t], levels,
                   t < grid ? low : 0.0f, &parts[static_cast<std::size_t>(c) * thresholds.size() + t]);
  });
  auto total = [&](auto member, std::size_t t) {
    double sum = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(chunks); ++c)
      sum += parts[c * thresholds.size() + t].*member;
    return sum;
  };
  double count = static_cast<double>(values.size()), sum = 0, power = 0;
  for (const ErrorSums& part : exact) sum += part.sum, power += part.power;
  double mean = sum / count, deviation = std::sqrt(std::max(0.0, power / count - mean * mean));
  BestThreshold last;
  for (std::size_t t = 0; t < thresholds.size(); ++t) {
    double squared = total(&ErrorSums::squared, t) / count;
    if (t >= grid) {
      if (last.loss < 0 || squared < last.loss)
        last = {squared, abs_max * static_cast<double>(1 << (t - grid)) / 8, batch};
      continue;
    }
    double threshold = kFractions[t] * abs_max;
    mse.offer({squared, threshold, batch});
    double mean_y = total(&ErrorSums::sum, t) / count;
    double deviation_y = std::sqrt(std::max(0.0, total(&ErrorSums::power, t) / count - mean_y * mean_y));
    emd.offer({std::fabs(mean - mean_y) + std::fabs(deviation - deviation_y), threshold, batch});
  }
  if (batch >= ptf.batch) ptf = last;
}

void TensorStatistics::merge(const TensorStatistics& other) {
  if (other.elements == 0) {
    not_finite += other.not_finite;
    return;
  }
  bool first = elements == 0;
  min = first ? other.min : std::min(min, other.min);
  max = first ? other.max : std::max(max, other.max);
  abs_min = first ? other.abs_min : std::min(abs_min, other.abs_min);
  abs_max = std::max(abs_max, other.abs_max);
  elements += other.elements;
  not_finite += other.not_finite;
  histogram.merge(other.histogram);
  averages.insert(averages.end(), other.averages.begin(), other.averages.end());
  std::sort(averages.begin(), averages.end());
  mse.offer(other.mse);
  emd.offer(other.emd);
  if (other.ptf.batch >= ptf.batch) ptf = other.ptf;
}

namespace {

nlohmann::json best_to_json(const BestThreshold& best) {
  return {best.loss, best.threshold, best.batch};
}
BestThreshold best_from_json(const nlohmann::json& json) {
  return {json.at(0).get<double>(), json.at(1).get<double>(), json.at(2).get<std::int64_t>()};
}

}  // namespace

nlohmann::json TensorStatistics::to_json() const {
  return {{"elements", elements},
          {"not_finite", not_finite},
          {"min", min},
          {"max", max},
          {"abs_min", abs_min},
          {"abs_max", abs_max},
          {"averages", averages},
          {"histogram", histogram.to_json()},
          {"mse", best_to_json(mse)},
          {"emd", best_to_json(emd)},
          {"ptf", best_to_json(ptf)}};
}

TensorStatistics TensorStatistics::from_json(const nlohmann::json& json) {
  TensorStatistics s;
  s.elements = json.at("elements").get<std::int64_t>();
  s.not_finite = json.at("not_finite").get<std::int64_t>();
  s.min = json.at("min").get<float>();
  s.max = json.at("max").get<float>();
  s.abs_min = json.at("abs_min").get<float>();
  s.abs_max = json.at("abs_max").get<float>();
  s.averages = json.at("averages").get<std::vector<std::pair<std::int64_t, float>>>();
  s.histogram = GrowingHistogram::from_json(json.at("histogram"));
  s.mse = best_from_json(json.at("mse"));
  s.emd = best_from_json(json.at("emd"));
  s.ptf = best_from_json(json.at("ptf"));
  return s;
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
