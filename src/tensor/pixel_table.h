#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

// What each value of an 8-bit pixel becomes, of each channel: as a number for a model, or as the integer that
// a quantized model makes of that number.
template <class T>
using PixelTable = std::vector<std::array<T, 256>>;
using PixelValues = PixelTable<float>;

// The integers of pixels, whose channels lie together.
struct PixelIntegers {
  PixelTable<std::int8_t> table = {};
  bool to_planes = false;  // each channel gets a plane; otherwise they lie together again

  bool operator==(const PixelIntegers&) const = default;
};

// `pixels` are whole ones; `to` has as many elements.
void look_up(const PixelIntegers& integers, std::span<const std::uint8_t> pixels, std::span<std::int8_t> to);
// A plane of floats for each channel.
void look_up(const PixelValues& values, std::span<const std::uint8_t> pixels, std::span<float> to);

}  // namespace octet
