#include <limits>

#include "graph/ops/resolve.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// Each output is finish(step(... step(initial, x0), x1 ...)) of the elements that belong to it, in row-major
// order.
template <class T, class State, class Step, class Finish>
void reduce(const KernelArgs& args, State initial, const Step& step, const Finish& finish) {
  const Tensor& x = *args.inputs[0];
  std::vector<bool> mask = ops::reduced_dims(args.node, x.shape().size(), args.input("axes"));
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
template <class T>
void reduce_floats(const KernelArgs& args, double divisor) {
  reduce<T>(
      args, 0.0, [](double sum, T x) { return sum + x; },
      [=](double sum) { return static_cast<T>(sum / divisor); });
}

template <class T>
void reduce_integers(const KernelArgs& args) {
  reduce<T>(
      args, std::uint64_t{0}, [](std::uint64_t sum, T x) { return sum + static_cast<std::uint64_t>(x); },
      [](std::uint64_t sum) { return static_cast<T>(sum); });
}

// The largest, or the least; of nothing, the number beyond all others.
template <class T, bool kLargest>
void reduce_extreme(const KernelArgs& args) {
  using Limits = std::numeric_limits<T>;
  T infinity = Limits::has_infinity ? Limits::infinity() : Limits::max();
  T lowest = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::min();
  reduce<T>(
      args, kLargest ? lowest : infinity,
      [](T found, T x) { return (kLargest ? x > found : x < found) ? x : found; },
      [](T found) { return found; });
}

}  // namespace

void reduce_mean(const KernelArgs& args) {
  std::int64_t outputs = std::max<std::int64_t>(args.outputs[0].size(), 1);
  auto count = static_cast<double>(args.inputs[0]->size() / outputs);
  args.outputs[0].dtype() == DType::kFloat32 ? reduce_floats<float>(args, count)
                                             : reduce_floats<double>(args, count);
}

void reduce_sum(const KernelArgs& args) {
  with_number(args.outputs[0].dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>)
      reduce_floats<T>(args, 1.0);
    else
      reduce_integers<T>(args);
  });
}

void reduce_max(const KernelArgs& args) {
  with_type(args.outputs[0].dtype(), [&]<class T>() { reduce_extreme<T, true>(args); });
}

void reduce_min(const KernelArgs& args) {
  with_type(args.outputs[0].dtype(), [&]<class T>() { reduce_extreme<T, false>(args); });
}

void reduce_prod(const KernelArgs& args) {
  with_number(args.outputs[0].dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>)
      reduce<T>(
          args, 1.0, [](double product, T x) { return product * x; },
          [](double product) { return static_cast<T>(product); });
    else
      reduce<T>(
          args, std::uint64_t{1},
          [](std::uint64_t product, T x) { return product * static_cast<std::uint64_t>(x); },
          [](std::uint64_t product) { return static_cast<T>(product); });
  });
}

}  // namespace octet::ref
