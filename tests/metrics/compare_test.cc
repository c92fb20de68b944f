#include "metrics/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace octet {
namespace {

using Values = std::vector<float>;

TEST(Compare, EqualIsPerfect) {
  const Values x = {1, -2, 3};
  const Comparison result = compare(x, x);
  EXPECT_EQ(result.max_abs_difference, 0);
  EXPECT_EQ(result.max_abs_expected, 3);
  EXPECT_DOUBLE_EQ(result.cosine, 1);
  EXPECT_TRUE(std::isinf(result.sqnr_db));
}

TEST(Compare, Measures) {
  const Comparison result = compare(Values{3, 4}, Values{3, 3});
  EXPECT_EQ(result.max_abs_difference, 1);
  EXPECT_NEAR(result.cosine, 21 / (5 * std::sqrt(18)), 1e-12);
  EXPECT_NEAR(result.sqnr_db, 10 * std::log10(25.0), 1e-12);
  EXPECT_DOUBLE_EQ(compare(Values{1, 0}, Values{-2, 0}).cosine, -1);
}

TEST(Compare, Zeros) {
  EXPECT_EQ(compare(Values{0, 0}, Values{0, 0}).cosine, 1);
  EXPECT_EQ(compare(Values{0, 0}, Values{0, 1}).cosine, 0);
  EXPECT_EQ(compare(Values{}, Values{}).max_abs_difference, 0);
}

TEST(Compare, NotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare(Values{nan, infinity, 1}, Values{nan, infinity, 1}).max_abs_difference, 0);
  EXPECT_TRUE(std::isinf(compare(Values{1}, Values{nan}).max_abs_difference));
  EXPECT_TRUE(std::isinf(compare(Values{infinity}, Values{-infinity}).max_abs_difference));
  EXPECT_TRUE(std::isinf(compare(Values{infinity}, Values{5}).max_abs_difference));
}

}  // namespace
}  // namespace octet
