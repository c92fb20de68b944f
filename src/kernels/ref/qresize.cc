#include <cmath>

#include "kernels/ref/interpolate.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

void qresize(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ResizePlan plan = plan_resize(args);
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t i) {
    const std::int8_t* plane = x.data<std::int8_t>().data() + i * x.dim(2) * x.dim(3);
    std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data() + i * out[2] * out[3];
    for (const ResizePoint& row : plan.rows)
      for (const ResizePoint& column : plan.columns) {
        if (plan.bilinear)
          *y++ = static_cast<std::int8_t>(std::nearbyint(interpolate(plane, x.dim(3), row, column)));
        else
          *y++ = plane[row.first * x.dim(3) + column.first];
      }
  });
}

}  // namespace octet::ref
