#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

// Long tensors in pieces, for threads.
namespace octet::quant {

constexpr std::int64_t kChunk = 1 << 15;  // elements of a task

inline std::int64_t chunks_of(std::size_t size) {
  return (static_cast<std::int64_t>(size) + kChunk - 1) / kChunk;
}

inline std::span<const float> chunk(std::span<const float> values, std::int64_t i) {
  auto begin = static_cast<std::size_t>(i * kChunk);
  return values.subspan(begin, std::min(values.size() - begin, static_cast<std::size_t>(kChunk)));
}

}  // namespace octet::quant
