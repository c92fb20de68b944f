#include "graph/ops/infer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

template <class T, class Index>
void arg_max_typed(const KernelArgs& args, const AxisView& view) {
  const T* in = args.inputs[0]->data<T>().data();
  Index* out = args.outputs[0].mutable_data<Index>().data();
  args.pool.parallel_for(view.outer, [&](std::int64_t o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const T* from = in + o * view.size * view.inner + i;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < view.size; ++k)
        if (from[k * view.inner] > from[best * view.inner]) best = k;
      out[o * view.inner + i] = static_cast<Index>(best);
    }
  });
}

template <class T>
void arg_max_of(const KernelArgs& args, const AxisView& view) {
  args.outputs[0].dtype() == DType::kInt32 ? arg_max_typed<T, std::int32_t>(args, view)
                                           : arg_max_typed<T, std::int64_t>(args, view);
}

}  // namespace

void arg_max(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  AxisView view{1, x.size(), 1};
  if (!attr<bool>(args.node, "flatten") && x.rank() > 0) {
    std::int64_t axis =
        args.input("axis") ? to_int64s(*args.input("axis"))[0] : attr<std::int64_t>(args.node, "axis");
    view = along(x.shape(), ops::normalize_axis(axis, x.shape().size()));
  }
  switch (x.dtype()) {
    case DType::kFloat32:
      return arg_max_of<float>(args, view);
    case DType::kInt32:
      return arg_max_of<std::int32_t>(args, view);
    case DType::kInt64:
      return arg_max_of<std::int64_t>(args, view);
    default:
      check(false, "the op table lets only these dtypes through");
  }
}

}  // namespace octet::ref
