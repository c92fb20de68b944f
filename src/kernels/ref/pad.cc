#include "kernels/ref/pad.h"

#include <algorithm>

#include "kernels/ref/ref.h"

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
  float value = attr<float>(args.node, "value");

  // An image of 4 dimensions is one of depth 1.
  bool deep = x.rank() == 5;
  std::int64_t in_d = deep ? x.dim(2) : 1, in_h = x.dim(-2), in_w = x.dim(-1);
  std::int64_t out_d = deep ? y.dim(2) : 1, out_h = y.dim(-2), out_w = y.dim(-1);
  auto columns = pad_sources(in_w, out_w, paddings[0], mode);
  auto rows = pad_sources(in_h, out_h, paddings[2], mode);
  auto slices = pad_sources(in_d, out_d, deep ? paddings[4] : 0, mode);

  args.pool.parallel_for(x.dim(0) * x.dim(1), [&](std::int64_t i) {
    const float* volume = x.data<float>().data() + i * in_d * in_h * in_w;
    float* to = y.mutable_data<float>().data() + i * out_d * out_h * out_w;
    for (std::int64_t slice : slices)
      for (std::int64_t row : rows) {
        const float* from = slice < 0 || row < 0 ? nullptr : volume + (slice * in_h + row) * in_w;
        for (std::int64_t column : columns) *to++ = from && column >= 0 ? from[column] : value;
      }
  });
}

}  // namespace octet::ref
