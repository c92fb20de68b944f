#include "runtime/roofline.h"

#include <gtest/gtest.h>

#include "base/cpu.h"

namespace octet {
namespace {

TEST(Roofline, IsMeasuredWhereTheCpuHasVectors) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  Roofline one = measure_roofline(1);
  EXPECT_GT(one.fp32_gmacs, 0);
  EXPECT_LT(one.fp32_gmacs, 1000);
  EXPECT_GT(one.int8_gmacs, one.fp32_gmacs);
}

TEST(Roofline, ThreadsAddUp) {
  if (!cpu_info().has("fma") && !cpu_info().has("neon")) GTEST_SKIP() << "no loop for this CPU";
  // Twice as much in theory; how much less it is depends on what else runs on the machine.
  EXPECT_GT(measure_roofline(2).fp32_gmacs, 0.2 * measure_roofline(1).fp32_gmacs);
}

}  // namespace
}  // namespace octet
