#include "kernels/ref/convolve.h"

namespace octet::ref {

GridAxis::GridAxis(const ops::WindowAxis& axis) : window(axis) {
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    std::int64_t remainder = k * axis.dilation % axis.stride;
    auto it = std::find(remainders.begin(), remainders.end(), remainder);
    taps.push_back({it - remainders.begin(), k * axis.dilation / axis.stride});
    if (it == remainders.end()) remainders.push_back(remainder);
  }
  cells = axis.out + taps.back().shift;
}

std::vector<std::int64_t> Grid::offsets(std::int64_t channels) const {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(channels) * y.taps.size() * x.taps.size());
  auto columns = static_cast<std::int64_t>(x.remainders.size());
  for (const GridAxis::Tap& ty : y.taps)
    for (const GridAxis::Tap& tx : x.taps)
      for (std::int64_t c = 0; c < channels; ++c) {
        std::int64_t part = ty.part * columns + tx.part;
        offsets.push_back(c * plane() + (part * y.cells + ty.shift) * x.cells + tx.shift);
      }
  return offsets;
}

}  // namespace octet::ref
