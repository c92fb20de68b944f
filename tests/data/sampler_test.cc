#include "data/sampler.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace octet {
namespace {

// 20 entries of class 0, 4 of class 1, none of class 2, 6 of class 3.
std::vector<std::int64_t> uneven() {
  std::vector<std::int64_t> labels(20, 0);
  labels.insert(labels.end(), 4, 1);
  labels.insert(labels.end(), 6, 3);
  return labels;
}

Sampler balanced(Shard shard, int batch_size, std::uint64_t seed = 5) {
  return {30, Batching::kFull, batch_size, shard, seed, true, uneven()};
}

TEST(Sampler, BalancedClassesHaveTheirTurnEquallyOften) {
  const Epoch epoch = balanced({}, 6).epoch(0);
  ASSERT_EQ(epoch.order.size(), 30u);
  std::map<std::int64_t, int> turns;
  std::map<std::uint32_t, int> of_entry;
  for (std::uint32_t entry : epoch.order) {
    ++turns[uneven()[entry]];
    ++of_entry[entry];
  }
  EXPECT_EQ(turns, (std::map<std::int64_t, int>{{0, 10}, {1, 10}, {3, 10}}));
  for (const auto& [entry, count] : of_entry) EXPECT_LE(count, uneven()[entry] == 0 ? 1 : 3);
  EXPECT_TRUE(epoch.has_repeats);
}

TEST(Sampler, BalancedOrdersFollowFromSeedAndEpoch) {
  EXPECT_EQ(balanced({}, 6).epoch(2).order, balanced({}, 6).epoch(2).order);
  EXPECT_NE(balanced({}, 6).epoch(2).order, balanced({}, 6).epoch(3).order);
  EXPECT_NE(balanced({}, 6).epoch(2).order, balanced({}, 6, 6).epoch(2).order);
}

TEST(Sampler, ProcessesShareABalancedBatch) {
  const Sampler one = balanced({}, 6), first = balanced({0, 2}, 3), second = balanced({1, 2}, 3);
  EXPECT_EQ(one.epoch(1).order, second.epoch(1).order);
  for (std::int64_t batch = 0; batch < one.batches(); ++batch) {
    std::multiset<std::size_t> all, parts;
    for (std::size_t turn : one.turns(batch)) all.insert(turn);
    for (std::size_t turn : first.turns(batch)) parts.insert(turn);
    for (std::size_t turn : second.turns(batch)) parts.insert(turn);
    EXPECT_EQ(all, parts);
  }
}

TEST(Sampler, WithoutThatEachEntryHasOneTurn) {
  const Epoch epoch = Sampler(30, Batching::kFull, 6, {}, 5, true).epoch(0);
  EXPECT_EQ(std::set<std::uint32_t>(epoch.order.begin(), epoch.order.end()).size(), 30u);
  EXPECT_FALSE(epoch.has_repeats);
}

}  // namespace
}  // namespace octet
