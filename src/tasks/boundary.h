#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/example.h"

namespace octet {

// How often two segmentations of pictures have the same class: over all pixels, and over those near a
// boundary between classes of the first one, where they are hardest to tell.
struct PixelAgreement {
  static constexpr int kNear = 3;  // pixels, along rows, columns or diagonals

  std::int64_t pixels = 0, agreed = 0;
  std::int64_t near = 0, agreed_near = 0;

  // Of one size.
  void add(const Mask& first, const Mask& second);
  double share() const { return ratio(agreed, pixels); }  // NaN: of none
  double share_near() const { return ratio(agreed_near, near); }

 private:
  static double ratio(std::int64_t part, std::int64_t of) {
    return static_cast<double>(part) / static_cast<double>(of);
  }
};

// Which pixels are at most `distance` steps (to any of the eight neighbours) away from one that has a
// neighbour, to its left, right, top or bottom, of another class.
std::vector<bool> near_boundary(const Mask& mask, int distance);

}  // namespace octet
