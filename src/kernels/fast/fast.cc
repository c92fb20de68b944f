#include "kernels/fast/fast.h"

namespace octet::fast {

std::span<const Implementation> implementations() {
  static const std::vector<Implementation> all = [] {
    std::vector<Implementation> rows;
    for (auto family :
         {unary, binary, image, resize_arg_max, movement, reduction, quantization, float_depthwise,
          float_winograd, float_conv, float_upsample, float_transpose, float_matmul, int8}) {
      std::vector<Implementation> more = family();
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace octet::fast
