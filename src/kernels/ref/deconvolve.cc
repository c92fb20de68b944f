#include "kernels/ref/deconvolve.h"

namespace octet::ref {

Cell find_cell(const GridAxis& axis, std::int64_t o) {
  std::int64_t position = o + axis.window.before, index = position / axis.window.stride;
  auto it = std::find(axis.remainders.begin(), axis.remainders.end(), position % axis.window.stride);
  if (it == axis.remainders.end() || index >= axis.cells) return {};
  return {it - axis.remainders.begin(), index};
}

}  // namespace octet::ref
