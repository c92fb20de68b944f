#include "data/mix.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace octet {
namespace {

// Picture i is all i, and of class i.
Batch numbered(std::int64_t count, std::int64_t side) {
  Batch batch;
  batch.pixels = Tensor(DType::kFloat32, {count, 3, side, side});
  const std::span<float> pixels = batch.pixels.mutable_data<float>();
  for (std::size_t p = 0; p < pixels.size(); ++p)
    pixels[p] = static_cast<float>(static_cast<std::int64_t>(p) / (3 * side * side));
  for (std::int64_t i = 0; i < count; ++i) {
    batch.labels.push_back(i);
    batch.entries.push_back(static_cast<std::size_t>(i));
  }
  return batch;
}

Batch mixed(const MixOptions& options, std::uint64_t step) {
  Batch batch = numbered(6, 16);
  mix(batch, options, Random({1, step}), Random({2, step}));
  return batch;
}

TEST(Mix, NothingIsMixedUnlessAskedFor) {
  const Batch batch = mixed({}, 0);
  EXPECT_TRUE(batch.mixture.labels.empty());
  EXPECT_TRUE(std::ranges::equal(batch.pixels.bytes(), numbered(6, 16).pixels.bytes()));
}

TEST(Mix, MixupIsTheWeightedMeanThatTheTargetsSay) {
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Batch batch = mixed({.mixup = 0.5}, step);
    ASSERT_EQ(batch.mixture.labels.size(), 6u);
    EXPECT_LE(batch.mixture.share, 0.5);
    const std::span<const float> pixels = batch.pixels.data<float>();
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t p : {std::size_t{0}, pixels.size() / 6 - 1})
        EXPECT_NEAR(pixels[i * pixels.size() / 6 + p],
                    (1 - batch.mixture.share) * static_cast<double>(batch.labels[i]) +
                        batch.mixture.share * static_cast<double>(batch.mixture.labels[i]),
                    1e-5);
  }
}

TEST(Mix, CutmixHasTheShareOfPixelsThatTheTargetsSay) {
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Batch batch = mixed({.cutmix = 1}, step);
    const std::span<const float> pixels = batch.pixels.data<float>();
    const std::size_t size = pixels.size() / 6;
    for (std::size_t i = 0; i < 6; ++i) {
      if (batch.labels[i] == batch.mixture.labels[i]) continue;
      const auto other =
          std::ranges::count(pixels.subspan(i * size, size), static_cast<float>(batch.mixture.labels[i]));
      EXPECT_NEAR(static_cast<double>(other) / static_cast<double>(size), batch.mixture.share, 1e-6);
    }
  }
}

TEST(Mix, WithBothABatchHasOneOfThem) {
  int cut = 0;
  for (std::uint64_t step = 0; step < 40; ++step) {
    const Batch batch = mixed({.mixup = 1, .cutmix = 1}, step);
    const std::span<const float> pixels = batch.pixels.data<float>();
    bool is_whole = true;
    for (float pixel : pixels) is_whole = is_whole && pixel == static_cast<float>(static_cast<int>(pixel));
    cut += is_whole;
  }
  EXPECT_GT(cut, 8);
  EXPECT_LT(cut, 32);
}

TEST(Mix, TheSameNumbersGiveTheSameBatch) {
  const Batch a = mixed({.mixup = 0.2}, 3), b = mixed({.mixup = 0.2}, 3), c = mixed({.mixup = 0.2}, 4);
  EXPECT_TRUE(std::ranges::equal(a.pixels.bytes(), b.pixels.bytes()));
  EXPECT_EQ(a.mixture.labels, b.mixture.labels);
  EXPECT_FALSE(std::ranges::equal(a.pixels.bytes(), c.pixels.bytes()));
}

// Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)).
TEST(Mix, BetaHasItsMeanAndVariance) {
  for (double a : {0.01, 0.2, 1.0, 8.0}) {
    Random random({7});
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(a, random);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015) << a;
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * a + 1)), 0.01) << a;
  }
}

}  // namespace
}  // namespace octet
