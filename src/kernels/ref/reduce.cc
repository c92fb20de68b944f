#include <limits>

#include "graph/ops/resolve.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

// Each output is finish(step(... step(initial, x0), x1 ...)) of the elements that belong to it, in row-major
// order.
template <class T, class State, class Step, class Finish>
void reduce(const KernelArgs& args, State initial, const Step& step, const Finish& finish) {
  const Tensor& x = *args.inputs[0];
  std::vector<bool> mask = ops::reduced_dims(args.node, x.shape().size());
  Shape strides = strides_of(x.shape());
  Shape kept{1}, kept_strides{0}, gone{1}, gone_strides{0};
  for (std::size_t i = 0; i < mask.size(); ++i) {
    (mask[i] ? gone : kept).push_back(x.shape()[i]);
    (mask[i] ? gone_strides : kept_strides).push_back(strides[i]);
  }
  std::int64_t count = count_of(gone, 0, gone.size());
  const T* in = x.data<T>().data();
  T* out = args.outputs[0].mutable_data<T>().data();
  args.pool.parallel_for(args.outputs[0].size(), [&](std::int64_t o) {
    const T* from = in + offset_of(o, kept, kept_strides, kept.size());
    State state = initial;
    for (std::int64_t i = 0; i < count; ++i)
      state = step(state, from[offset_of(i, gone, gone_strides, gone.size())]);
    out[o] = finish(state);
  });
}

// Floats are summed in double and rounded once; integers wrap around.
void reduce_floats(const KernelArgs& args, double divisor) {
  reduce<float>(
      args, 0.0, [](double sum, float x) { return sum + x; },
      [=](double sum) { return static_cast<float>(sum / divisor); });
}

template <class T>
void reduce_integers(const KernelArgs& args) {
  reduce<T>(
      args, std::uint64_t{0}, [](std::uint64_t sum, T x) { return sum + static_cast<std::uint64_t>(x); },
      [](std::uint64_t sum) { return static_cast<T>(sum); });
}

template <class T>
void reduce_maximum(const KernelArgs& args) {
  reduce<T>(
      args,
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::min(),
      [](T largest, T x) { return x > largest ? x : largest; }, [](T largest) { return largest; });
}

}  // namespace

void reduce_mean(const KernelArgs& args) {
  std::int64_t outputs = std::max<std::int64_t>(args.outputs[0].size(), 1);
  std::int64_t count = args.inputs[0]->size() / outputs;
  reduce_floats(args, static_cast<double>(count));
}

void reduce_sum(const KernelArgs& args) {
  switch (args.outputs[0].dtype()) {
    case DType::kFloat32:
      return reduce_floats(args, 1.0);
    case DType::kInt32:
      return reduce_integers<std::int32_t>(args);
    case DType::kInt64:
      return reduce_integers<std::int64_t>(args);
    default:
      check(false, "the op table lets only these dtypes through");
  }
}

void reduce_max(const KernelArgs& args) {
  switch (args.outputs[0].dtype()) {
    case DType::kFloat32:
      return reduce_maximum<float>(args);
    case DType::kInt32:
      return reduce_maximum<std::int32_t>(args);
    case DType::kInt64:
      return reduce_maximum<std::int64_t>(args);
    default:
      check(false, "the op table lets only these dtypes through");
  }
}

}  // namespace octet::ref
