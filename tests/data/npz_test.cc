#include "data/npz.h"

#include <gmock/gmock.h>

#include "octet/error.h"
#include "support/npz.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

std::map<std::string, Tensor> read(const std::string& text) {
  return read_npz(std::as_bytes(std::span(text)), "x.npz");
}

TEST(Npz, ReadsArraysByName) {
  for (bool packed : {false, true}) {
    const std::map<std::string, Tensor> arrays = read(make_npz(
        {{"im", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}, {"size", Tensor::of<std::int64_t>({1}, {7})}},
        packed));
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays.at("im").shape(), (Shape{2, 2}));
    EXPECT_EQ(arrays.at("im").data<float>()[3], 4);
    EXPECT_EQ(arrays.at("size").data<std::int64_t>()[0], 7);
  }
}

TEST(Npz, EveryDamageIsAnError) {
  const std::string good = make_npz({{"x", Tensor::of<float>({8}, std::vector<float>(8, 1))}}, true);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_THROW(read(good.substr(0, size)), Error);
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      try {
        read(bad);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("x.npz"));
      }
    }
  EXPECT_THROW(read("no archive"), Error);
}

}  // namespace
}  // namespace octet
