#include "base/memory.h"

#include <gmock/gmock.h>

#include <vector>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(Memory, SizesAreReadAndSaid) {
  EXPECT_EQ(parse_size("1GB"), std::size_t{1} << 30);
  EXPECT_EQ(parse_size("512 MB"), std::size_t{512} << 20);
  EXPECT_EQ(parse_size("1.5g"), std::size_t{3} << 29);
  EXPECT_EQ(parse_size("2GiB"), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("1000"), 1000u);
  for (const char* text : {"", "GB", "-1GB", "1XB", "1GBs", "nan", "1e300GB", "0", "0.0"})
    EXPECT_THAT(error_of([&] { parse_size(text); }), HasSubstr("is not a size, such as 1GB")) << text;
  EXPECT_EQ(size_text(std::size_t{1} << 30), "1 GB");
  EXPECT_EQ(size_text(std::size_t{3} << 29), "1.5 GB");
  EXPECT_EQ(size_text(std::size_t{200} << 20), "200 MB");
  EXPECT_EQ(size_text(999), "999 bytes");
}

TEST(Memory, ErrorsNameWhatThereWasNoneFor) {
  EXPECT_EQ(error_of([] {
              with_memory([] { return std::string("a list"); }, []() -> int { throw std::bad_alloc(); });
            }),
            "out of memory: a list");
  EXPECT_THAT(error_of([] { limit_memory(1 << 20); }), HasSubstr("1 MB is less than the 64 MB"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need all of the address space
[[noreturn]] void take_too_much() {
  limit_memory(std::size_t{256} << 20);
  try {
    const std::vector<char> large(std::size_t{1} << 30);
  } catch (const std::bad_alloc&) {
    _exit(error_of([] { fail_for_memory("x"); }) == "out of memory: x, and all together may take 256 MB" ? 0
                                                                                                         : 2);
  }
  _exit(1);
}

TEST(Memory, TheLimitHolds) {
  EXPECT_EXIT(take_too_much(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace octet
