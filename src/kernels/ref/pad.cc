#include "kernels/ref/pad.h"

#include <algorithm>

#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

std::vector<std::int64_t> pad_sources(std::int64_t in, std::int64_t out, std::int64_t before,
                                      const std::string& mode) {
  std::vector<std::int64_t> result;
  for (std::int64_t o = 0; o < out; ++o) {
    std::int64_t i = o - before;
    if (mode == "reflect") {
      i = i < 0 ? -i : i;
      i = std::min(i, 2 * in - i - 2);
    } else if (mode == "replicate") {
      i = std::clamp<std::int64_t>(i, 0, in - 1);
    } else if (mode == "circular") {
      i = (i % in + in) % in;
    } else if (i < 0 || i >= in) {
      i = -1;
    }
    result.push_back(i);
  }
  return result;
}

void pad(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  Tensor& y = args.outputs[0];
  std::vector<std::int64_t> paddings = args.input("paddings")
                                           ? to_int64s(*args.input("paddings"))
                                           : attr<std::vector<std::int64_t>>(args.node, "paddings");
  std::string mode = attr<std::string>(args.node, "mode");
  std::size_t rank = x.shape().size();
  paddings.resize(std::max(paddings.size(), 2 * rank), 0);
  // Where each position along each dimension comes from.
  std::vector<std::vector<std::int64_t>> sources;
  for (std::size_t i = 0; i < rank; ++i)
    sources.push_back(pad_sources(x.shape()[i], y.shape()[i], paddings[2 * (rank - 1 - i)], mode));
  Tensor value;
  if (mode == "constant")
    value = args.input("value") ? *args.input("value")
                                : Tensor::scalar(attr<double>(args.node, "value")).cast(x.dtype());
  Shape strides = strides_of(x.shape());
  if (rank == 0) return identity(args);
  std::int64_t row = y.shape().back();
  with_size(y.dtype(), [&]<class T>() {
    const T* from = elements<T>(x);
    const T fill = value.empty() ? T{} : elements<T>(value)[0];
    T* to = mutable_elements<T>(y);
    args.pool.parallel_for(row == 0 ? 0 : y.size() / row, [&](std::int64_t r) {
      std::int64_t offset = 0, rest = r;
      bool inside = true;
      for (std::size_t i = rank - 1; i-- > 0; rest /= y.shape()[i]) {
        std::int64_t source = sources[i][static_cast<std::size_t>(rest % y.shape()[i])];
        inside = inside && source >= 0;
        offset += source * strides[i];
      }
      T* line = to + r * row;
      for (std::int64_t source : sources[rank - 1])
        *line++ = inside && source >= 0 ? from[offset + source] : fill;
    });
  });
}

}  // namespace octet::ref
