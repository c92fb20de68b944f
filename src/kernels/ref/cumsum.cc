#include "graph/ops/infer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// Running sums from left to right, or from right to left; each step is rounded, integers wrap around.
template <class T>
void running_sums(const KernelArgs& args, const AxisView& view, bool exclusive, bool reverse) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  const T* in = args.inputs[0]->data<T>().data();
  T* out = args.outputs[0].mutable_data<T>().data();
  args.pool.parallel_for(view.outer * view.inner, [&](std::int64_t row) {
    std::int64_t first = row / view.inner * view.size * view.inner + row % view.inner;
    Sum sum = 0;
    for (std::int64_t i = 0; i < view.size; ++i) {
      std::int64_t at = first + (reverse ? view.size - 1 - i : i) * view.inner;
      Sum next = sum + static_cast<Sum>(in[at]);
      out[at] = static_cast<T>(exclusive ? sum : next);
      sum = next;
    }
  });
}

}  // namespace

void cumsum(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  std::int64_t axis =
      args.input("axis") ? to_int64s(*args.input("axis"))[0] : attr<std::int64_t>(args.node, "axis");
  AxisView view = along(x.shape(), ops::normalize_axis(axis, x.shape().size()));
  with_number(x.dtype(), [&]<class T>() {
    running_sums<T>(args, view, attr<bool>(args.node, "exclusive"), attr<bool>(args.node, "reverse"));
  });
}

}  // namespace octet::ref
