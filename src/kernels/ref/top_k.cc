#include <algorithm>
#include <numeric>

#include "graph/ops/infer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// Whether a comes before b when the largest is first; NaN counts as larger than all numbers.
template <class T>
bool comes_first(T a, T b, bool largest) {
  if (a != a || b != b) return largest ? a != a && b == b : a == a && b != b;
  return largest ? a > b : a < b;
}

template <class T>
void select(const KernelArgs& args, const AxisView& view, std::int64_t k, bool largest) {
  const T* in = args.inputs[0]->data<T>().data();
  T* values = args.outputs[0].mutable_data<T>().data();
  std::int64_t* indices =
      args.outputs.size() > 1 ? args.outputs[1].mutable_data<std::int64_t>().data() : nullptr;
  args.pool.parallel_for(view.outer * view.inner, [&](std::int64_t row) {
    const T* from = in + row / view.inner * view.size * view.inner + row % view.inner;
    std::int64_t to = row / view.inner * k * view.inner + row % view.inner;
    std::vector<std::int64_t> order(static_cast<std::size_t>(view.size));
    std::iota(order.begin(), order.end(), 0);
    // Of equals, the first.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
      T x = from[a * view.inner], y = from[b * view.inner];
      return comes_first(x, y, largest) || (!comes_first(y, x, largest) && a < b);
    });
    for (std::int64_t i = 0; i < k; ++i) {
      std::int64_t index = order[static_cast<std::size_t>(i)];
      values[to + i * view.inner] = from[index * view.inner];
      if (indices) indices[to + i * view.inner] = index;
    }
  });
}

}  // namespace

void top_k(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  std::int64_t axis = ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), x.shape().size());
  std::int64_t k = args.outputs[0].dim(static_cast<int>(axis));
  with_number(x.dtype(), [&]<class T>() {
    select<T>(args, along(x.shape(), axis), k, attr<bool>(args.node, "largest"));
  });
}

}  // namespace octet::ref
