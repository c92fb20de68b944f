#include "tensor/pixel_table.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

std::vector<std::uint8_t> some_pixels(std::size_t size) {
  std::vector<std::uint8_t> pixels(size);
  std::uint32_t state = 7;
  for (std::uint8_t& value : pixels) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  return pixels;
}

template <class T>
PixelTable<T> some_table(std::size_t channels) {
  PixelTable<T> table(channels);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < 256; ++i)
      table[c][i] = static_cast<T>(static_cast<std::int8_t>(i * (2 * c + 3) + 5 * c));
  return table;
}

// Sizes that vectors fill, and others.
constexpr std::size_t kCounts[] = {0, 1, 5, 63, 64, 65, 192, 1000};

TEST(PixelTable, EachValueIsThatOfItsChannel) {
  for (std::size_t channels : {1u, 2u, 3u, 4u})
    for (std::size_t count : kCounts)
      for (bool to_planes : {false, true}) {
        const PixelIntegers integers{some_table<std::int8_t>(channels), to_planes};
        const std::vector<std::uint8_t> pixels = some_pixels(channels * count);
        std::vector<std::int8_t> found(pixels.size());
        look_up(integers, pixels, found);
        for (std::size_t i = 0; i < pixels.size(); ++i) {
          const std::size_t c = i % channels, pixel = i / channels;
          ASSERT_EQ(found[to_planes ? c * count + pixel : i], integers.table[c][pixels[i]])
              << channels << " channels, " << count << " pixels, at " << i;
        }
      }
}

TEST(PixelTable, FloatsBecomePlanes) {
  for (std::size_t channels : {1u, 3u}) {
    const PixelValues values = some_table<float>(channels);
    const std::vector<std::uint8_t> pixels = some_pixels(channels * 77);
    std::vector<float> found(pixels.size());
    look_up(values, pixels, found);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      ASSERT_EQ(found[i % channels * 77 + i / channels], values[i % channels][pixels[i]]);
  }
}

}  // namespace
}  // namespace octet
