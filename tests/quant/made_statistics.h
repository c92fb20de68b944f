#pragma once
#include <vector>

#include "quant/statistics.h"
#include "support/small_models.h"

namespace octet::quant {

inline std::vector<float> numbers(std::int64_t count, std::uint32_t seed, float scale) {
  Tensor tensor = octet::testing::ramp({count}, seed);
  std::vector<float> result(tensor.data<float>().begin(), tensor.data<float>().end());
  for (float& x : result) x *= x * x * scale;  // more small ones than large ones
  return result;
}

// Of batches of four samples each, of which the first has the index `first`.
inline TensorStatistics statistics_of(const std::vector<std::vector<float>>& batches, std::int64_t first = 0,
                                      int threads = 2) {
  ThreadPool pool(threads);
  TensorStatistics s;
  for (std::size_t i = 0; i < batches.size(); ++i)
    s.update(first + static_cast<std::int64_t>(i), batches[i], 4, {}, pool);
  return s;
}

}  // namespace octet::quant
