#include "tasks/boundary.h"

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

// Each element becomes whether any of those up to `distance` before or behind it is set.
void spread(std::vector<bool>& set, std::size_t begin, std::size_t count, std::size_t step, int distance) {
  std::vector<bool> before(count);
  for (std::size_t i = 0; i < count; ++i) before[i] = set[begin + i * step];
  const auto reach = static_cast<std::size_t>(distance);
  std::size_t inside = 0;  // of the window, that are set
  for (std::size_t i = 0; i < std::min(reach, count); ++i) inside += before[i];
  for (std::size_t i = 0; i < count; ++i) {
    if (i + reach < count) inside += before[i + reach];
    set[begin + i * step] = inside > 0;
    if (i >= reach) inside -= before[i - reach];
  }
}

}  // namespace

std::vector<bool> near_boundary(const Mask& mask, int distance) {
  const auto width = static_cast<std::size_t>(mask.width), height = static_cast<std::size_t>(mask.height);
  std::vector<bool> near(width * height);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t at = y * width + x;
      const auto compare = [&](std::size_t other) {
        if (mask.pixels[at] != mask.pixels[other]) near[at] = near[other] = true;
      };
      if (x + 1 < width) compare(at + 1);
      if (y + 1 < height) compare(at + width);
    }
  for (std::size_t y = 0; y < height; ++y) spread(near, y * width, width, 1, distance);
  for (std::size_t x = 0; x < width; ++x) spread(near, x, height, width, distance);
  return near;
}

void PixelAgreement::add(const Mask& first, const Mask& second) {
  check(first.width == second.width && first.height == second.height, "two masks have one size");
  const std::vector<bool> is_near = near_boundary(first, kNear);
  for (std::size_t i = 0; i < first.pixels.size(); ++i) {
    const bool agrees = first.pixels[i] == second.pixels[i];
    agreed += agrees;
    near += is_near[i];
    agreed_near += agrees && is_near[i];
  }
  pixels += std::ssize(first.pixels);
}

}  // namespace octet
