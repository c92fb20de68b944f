#pragma once
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "octet/error.h"

namespace octet {

// True when `read(content)` reads or throws an Error that is fit to print: the user's fault, on one line.
template <class Read>
bool reads(const std::string& content, Read read) {
  try {
    read(content);
    return true;
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_EQ(error.kind(), Error::Kind::kUser) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_FALSE(message.empty());
    return false;
  }
}

// A reader's answer to a damaged file is an Error or, where the damage hit values only, a result. Cuts `good`
// at every `step`th byte, which may never read, and flips some bytes `flips` times.
template <class Read>
void expect_survives_damage(const std::string& good, Read read, std::size_t step, int flips) {
  EXPECT_TRUE(reads(good, read));
  for (std::size_t size = 0; size < good.size(); size += step)
    EXPECT_FALSE(reads(good.substr(0, size), read)) << "cut at byte " << size;
  std::mt19937 random(1);
  int failed = 0;
  for (int i = 0; i < flips; ++i) {
    std::string bad = good;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      bad[random() % bad.size()] ^= static_cast<char>(random() % 255 + 1);
    failed += !reads(bad, read);
  }
  EXPECT_TRUE(flips == 0 || failed > 0) << "no flipped byte was noticed";
}

}  // namespace octet
