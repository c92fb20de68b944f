#include "data/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace octet {

Sampler::Sampler(std::size_t entries, Batching batching, int batch_size, Shard shard,
                 std::optional<std::uint64_t> seed, bool drop_last)
    : entries_(static_cast<std::int64_t>(entries)),
      batch_size_(batch_size),
      batching_(batching),
      shard_(shard),
      seed_(seed) {
  check(batch_size > 0, "a batch has at least one picture");
  check(shard.rank >= 0 && shard.rank < shard.size, "a process' rank is below their number");
  check(batching != Batching::kFilled || shard.size == 1, "batches that are filled up are for one process");
  if (batching != Batching::kFull) {
    const std::int64_t all = (entries_ + batch_size_ - 1) / batch_size_;
    batches_ = (all - shard.rank + shard.size - 1) / shard.size;
    return;
  }
  const std::int64_t step = batch_size_ * shard.size;
  batches_ = drop_last ? entries_ / step : (entries_ + step - 1) / step;
  if (batches_ == 0)
    fail("{} pictures are fewer than the {} of one batch{}; try a smaller batch size", entries, step,
         shard.size > 1 ? fmt::format(" ({} in each of {} processes)", batch_size, shard.size) : "");
}

Epoch Sampler::epoch(std::uint64_t number) const {
  Epoch epoch{number, std::vector<std::uint32_t>(static_cast<std::size_t>(entries_))};
  std::iota(epoch.order.begin(), epoch.order.end(), 0u);
  if (!seed_) return epoch;
  Random random({*seed_, number});
  for (std::size_t i = epoch.order.size(); i > 1; --i)
    std::swap(epoch.order[i - 1],
              epoch.order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  return epoch;
}

std::int64_t Sampler::number_of(std::int64_t batch) const {
  return batching_ == Batching::kFull ? batch : batch * shard_.size + shard_.rank;
}

std::vector<std::size_t> Sampler::turns(std::int64_t batch) const {
  const bool is_shared = batching_ == Batching::kFull;  // in turns
  const std::int64_t step = is_shared ? shard_.size : 1;
  std::int64_t turn = number_of(batch) * batch_size_ * step + (is_shared ? shard_.rank : 0);
  std::vector<std::size_t> turns;
  for (std::int64_t i = 0; i < batch_size_ && (is_shared || turn < entries_); ++i, turn += step)
    turns.push_back(static_cast<std::size_t>(turn));
  return turns;
}

}  // namespace octet
