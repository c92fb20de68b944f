#include "data/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace octet {

namespace {

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
}

// In rounds, in each of which every class has one turn. A class gives its entries in an order of its own, and
// begins with another one when they are used up.
std::vector<std::uint32_t> balanced_order(std::vector<std::vector<std::uint32_t>> classes, std::size_t turns,
                                          Random& random) {
  std::vector<std::size_t> round(classes.size()), used(classes.size());
  std::iota(round.begin(), round.end(), 0u);
  std::vector<std::uint32_t> order;
  while (order.size() < turns) {
    shuffle(round, random);
    for (std::size_t c : round) {
      if (order.size() == turns) break;
      const std::size_t at = used[c]++ % classes[c].size();
      if (at == 0) shuffle(classes[c], random);
      order.push_back(classes[c][at]);
    }
  }
  return order;
}

}  // namespace

Sampler::Sampler(std::size_t entries, Batching batching, int batch_size, Shard shard,
                 std::optional<std::uint64_t> seed, bool drop_last, const std::vector<std::int64_t>& balanced)
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
  for (std::size_t i = 0; i < balanced.size(); ++i) {
    const auto label = static_cast<std::size_t>(balanced[i]);
    if (label >= classes_.size()) classes_.resize(label + 1);
    classes_[label].push_back(static_cast<std::uint32_t>(i));
  }
  std::erase_if(classes_, [](const auto& of_class) { return of_class.empty(); });
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
  epoch.has_repeats = !classes_.empty();
  if (epoch.has_repeats)
    epoch.order = balanced_order(classes_, epoch.order.size(), random);
  else
    shuffle(epoch.order, random);
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
