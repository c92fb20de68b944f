#include "quant/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/clones.h"
#include "base/error.h"
#include "graph/quantization.h"
#include "quant/chunks.h"

namespace octet::quant {

namespace {

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

}  // namespace

const std::vector<double>& grid_fractions() {
  static const std::vector<double> kFractions = [] {  // accumulated as PaddleSlim does
    std::vector<double> fractions;
    for (double s = 0.3; s <= 1.0; s += 0.02) fractions.push_back(s);
    return fractions;
  }();
  return kFractions;
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
  const std::vector<double>& fractions = grid_fractions();
  const auto levels = static_cast<float>(levels_of(wanted.bits));
  const float low = wanted.negatives_are_errors ? 0.0f : -levels - 1;
  const double abs_max = largest > 0 ? static_cast<double>(largest) : 1e-8;
  // The grid, and behind it the four thresholds of ptf, which is for tensors without negatives.
  std::vector<float> thresholds;
  for (double s : fractions) thresholds.push_back(static_cast<float>(s * abs_max));
  for (double divisor : {8.0, 4.0, 2.0, 1.0}) thresholds.push_back(static_cast<float>(abs_max / divisor));
  const std::size_t grid = fractions.size();

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
    double threshold = fractions[t] * abs_max;
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
  // Sums and products of these stay within their types.
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
  const auto is_count = [](std::int64_t count) { return count >= 0 && count <= kMaxElements; };
  bool sensible = is_count(s.elements) && is_count(s.not_finite) && s.min <= s.max && s.abs_min >= 0 &&
                  s.abs_min <= s.abs_max && std::isfinite(s.min) && std::isfinite(s.max) &&
                  std::isfinite(s.abs_max);
  for (const auto& [batch, average] : s.averages) sensible = sensible && batch >= 0 && average >= 0;
  if (!sensible) fail("numbers of a tensor make no sense");
  return s;
}

}  // namespace octet::quant
