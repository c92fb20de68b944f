#include "graph/exp.h"
#include "graph/ops/infer.h"
#include "kernels/ref/activation.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

// One row, whose elements lie `step` apart. The exponentials are floats; their sum runs in double, from left
// to right, and is rounded to float once.
void softmax_row(const float* x, float* y, std::int64_t count, std::int64_t step) {
  float largest = *x;
  for (std::int64_t i = 1; i < count; ++i)
    if (x[i * step] > largest) largest = x[i * step];
  for (std::int64_t i = 0; i < count; ++i) y[i * step] = exp_of(x[i * step] - largest);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += y[i * step];
  auto divisor = static_cast<float>(sum);
  for (std::int64_t i = 0; i < count; ++i) y[i * step] /= divisor;
}

// x - max - log(sum of e^(x - max)), the sum and its logarithm in double, rounded once.
void log_softmax_row(const float* x, float* y, std::int64_t count, std::int64_t step) {
  float largest = *x;
  for (std::int64_t i = 1; i < count; ++i)
    if (x[i * step] > largest) largest = x[i * step];
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += exp_of(x[i * step] - largest);
  auto less = static_cast<float>(log_of(sum));
  for (std::int64_t i = 0; i < count; ++i) y[i * step] = x[i * step] - largest - less;
}

template <class Row>
void for_rows(const KernelArgs& args, const Row& row_function) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  AxisView view{1, 1, 1};
  if (x.rank() > 0)
    view = along(x.shape(), ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), x.shape().size()));
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();

  args.pool.parallel_for(view.outer * view.inner, [&](std::int64_t row) {
    std::int64_t first = row / view.inner * view.size * view.inner + row % view.inner;
    row_function(in + first, out + first, view.size, view.inner);
  });
}

}  // namespace

void softmax(const KernelArgs& args) {
  for_rows(args, softmax_row);
}

void log_softmax(const KernelArgs& args) {
  for_rows(args, log_softmax_row);
}

}  // namespace octet::ref
