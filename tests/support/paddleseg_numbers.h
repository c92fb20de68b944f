#pragma once
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace octet::testing {

// Numbers in [-1, 1) that are the same everywhere: PaddleSeg was run on them, and its results are what losses
// and metrics are tested against.
inline double made_number(std::uint32_t series, std::uint32_t i) {
  std::uint32_t h = i * 2654435761u + series * 40503u + 12345u;
  h ^= h >> 16;
  h *= 2246822519u;
  h ^= h >> 13;
  return static_cast<double>(h) / 2147483648.0 - 1;
}

// Two pictures of 4 x 5 pixels and three classes.
inline Tensor paddleseg_logits() {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 2 * 3 * 4 * 5; ++i)
    values.push_back(static_cast<float>(3 * made_number(7, i)));
  return Tensor::of<float>({2, 3, 4, 5}, values);
}

inline Tensor paddleseg_labels() {
  std::vector<std::uint8_t> values;
  for (int k = 0; k < 2 * 4 * 5; ++k)
    values.push_back(static_cast<std::uint8_t>(k % 9 == 4 ? 255 : (7 * k + 3) % 3));
  return Tensor::of<std::uint8_t>({2, 4, 5}, values);
}

}  // namespace octet::testing
