#include "runtime/limit.h"

#include <gtest/gtest.h>

#include "base/cpu.h"

namespace octet {
namespace {

TEST(Limit, IsMeasuredWhereTheCpuHasVectors) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  Limit one = measure_limit(1);
  EXPECT_GT(one.fp32_gmacs, 0.1);
  EXPECT_LT(one.fp32_gmacs, 1000);
  EXPECT_GT(one.int8_gmacs, one.fp32_gmacs);
}

TEST(Limit, ThreadsAddUp) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  // Twice in theory; a busy machine gives less, but not less than what one thread would get of one core.
  EXPECT_GT(measure_limit(2).fp32_gmacs, 0.5 * measure_limit(1).fp32_gmacs);
}

}  // namespace
}  // namespace octet
