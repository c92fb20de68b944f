#include "cli/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace octet::cli {
namespace {

// Counts up to `count` and hands in the squares; the later a piece comes, the sooner it is done.
std::vector<int> squares(int lanes, int count, int failing = -1) {
  int next = 0;
  std::vector<int> results;
  run_in_lanes(
      lanes, [&] { return next < count ? std::optional(next++) : std::nullopt; },
      [&](int, int piece) {
        std::this_thread::sleep_for(std::chrono::microseconds(50 * ((count - piece) % 4)));
        if (piece == failing) throw std::runtime_error("no square");
        return piece * piece;
      },
      [&](int piece, int result) {
        EXPECT_EQ(result, piece * piece);
        results.push_back(result);
      });
  return results;
}

TEST(Lanes, HandInTheirWorkInOrder) {
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) expected.push_back(i * i);
  for (int lanes : {1, 2, 5}) EXPECT_EQ(squares(lanes, 50), expected);
  EXPECT_TRUE(squares(3, 0).empty());
}

TEST(Lanes, WorkAtTheSameTime) {
  std::atomic<int> inside = 0;
  int next = 0;
  run_in_lanes(
      2, [&] { return next < 2 ? std::optional(next++) : std::nullopt; },
      [&](int, int) {
        ++inside;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (inside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        return inside.load();
      },
      [](int, int met) { EXPECT_EQ(met, 2); });
}

TEST(Lanes, EndWithTheFirstFailure) {
  for (int lanes : {1, 3}) EXPECT_THROW(squares(lanes, 20, 7), std::runtime_error);
  std::vector<int> handed_in;
  int next = 0;
  try {
    run_in_lanes(
        4, [&] { return std::optional(next++); }, [](int, int piece) { return piece; },
        [&](int piece, int) {
          handed_in.push_back(piece);
          if (piece == 3) throw std::runtime_error("full");
        });
    FAIL() << "the failure is lost";
  } catch (const std::runtime_error&) {
    EXPECT_THAT(handed_in, testing::ElementsAre(0, 1, 2, 3));
  }
}

}  // namespace
}  // namespace octet::cli
