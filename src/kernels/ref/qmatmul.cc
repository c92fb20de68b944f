#include "kernels/ref/epilogue.h"
#include "kernels/ref/multiply.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

void qmatmul(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.inputs[1];
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t inner = weight.dim(transposed ? 1 : 0), columns = weight.dim(transposed ? 0 : 1);
  std::int64_t rows = columns == 0 ? 0 : args.outputs[0].size() / columns;
  Epilogue epilogue(args, args.input(4));
  Rescale rescale(*args.inputs[2], args.input(3));
  multiply<std::int32_t>(
      matrix(x.data<std::int8_t>().data(), rows, inner),
      matrix(weight.data<std::int8_t>().data(), inner, columns, transposed), args.pool,
      [&](std::int64_t row, std::int64_t first, const std::int32_t* sums, std::int64_t count) {
        std::vector<float> values = rescale.columns(sums, count, first);
        epilogue.store(values.data(), count, row * columns + first);
      });
}

}  // namespace octet::ref
