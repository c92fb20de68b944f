#include "base/glob.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(Glob, NamesAndPatterns) {
  EXPECT_TRUE(matches("conv*_w", "conv2d_0_w"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("conv?", "conv"));
  EXPECT_FALSE(matches("conv", "conv2d"));
}

}  // namespace
}  // namespace octet
