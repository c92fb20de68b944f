#include "graph/ops/infer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// better(x, best so far) says that x takes its place.
template <class T, class Index, class Better>
void find_best(const KernelArgs& args, const AxisView& view, const Better& better) {
  const T* in = args.inputs[0]->data<T>().data();
  Index* out = args.outputs[0].mutable_data<Index>().data();
  args.pool.parallel_for(view.outer, [&](std::int64_t o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const T* from = in + o * view.size * view.inner + i;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < view.size; ++k)
        if (better(from[k * view.inner], from[best * view.inner])) best = k;
      out[o * view.inner + i] = static_cast<Index>(best);
    }
  });
}

void find_best(const KernelArgs& args, bool largest) {
  const Tensor& x = *args.inputs[0];
  AxisView view{1, x.size(), 1};
  if (!attr<bool>(args.node, "flatten") && x.rank() > 0) {
    std::int64_t axis =
        args.input("axis") ? to_int64s(*args.input("axis"))[0] : attr<std::int64_t>(args.node, "axis");
    view = along(x.shape(), ops::normalize_axis(axis, x.shape().size()));
  }
  bool last = attr<bool>(args.node, "last");
  with_number(x.dtype(), [&]<class T>() {
    auto better = [=](T value, T best) {
      return (largest ? value > best : value < best) || (last && value == best);
    };
    args.outputs[0].dtype() == DType::kInt32 ? find_best<T, std::int32_t>(args, view, better)
                                             : find_best<T, std::int64_t>(args, view, better);
  });
}

}  // namespace

void arg_max(const KernelArgs& args) {
  find_best(args, true);
}

void arg_min(const KernelArgs& args) {
  find_best(args, false);
}

}  // namespace octet::ref
