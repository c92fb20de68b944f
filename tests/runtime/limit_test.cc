#include "runtime/limit.h"

#include <gtest/gtest.h>

#include "base/cpu.h"

namespace octet {
namespace {

TEST(Limit, IsMeasuredWhereTheCpuHasVectors) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  Limit one = measure_limit(1);
  EXPECT_GT(one.fp32_gmacs, 0);
  EXPECT_LT(one.fp32_gmacs, 1000);
  EXPECT_GT(one.int8_gmacs, one.fp32_gmacs);
}

TEST(Limit, ThreadsAddUp) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  // Twice as much in theory; how much less it is depends on what else runs on the machine.
  EXPECT_GT(measure_limit(2).fp32_gmacs, 0.2 * measure_limit(1).fp32_gmacs);
}

}  // namespace
}  // namespace octet
