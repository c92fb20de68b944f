#include "kernels/blocks.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// Fills y in order: element i, seen with `dims`, is that of x at `strides`.
void rearrange(const KernelArgs& args, const Shape& dims, const Shape& strides) {
  with_size(args.outputs[0].dtype(), [&]<class T>() {
    const T* from = elements<T>(*args.inputs[0]);
    T* to = mutable_elements<T>(args.outputs[0]);
    for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
      walk(dims, std::array<Shape, 1>{strides}, begin, end,
           [&](std::int64_t i, const std::array<std::int64_t, 1>& at) { to[i] = from[at[0]]; });
    });
  });
}

}  // namespace

void expand(const KernelArgs& args) {
  const Shape& out = args.outputs[0].shape();
  Shape shape = args.inputs[0]->shape();
  shape.insert(shape.begin(), out.size() - shape.size(), 1);
  rearrange(args, out, broadcast_strides(shape));
}

void tile(const KernelArgs& args) {
  const Shape &x = args.inputs[0]->shape(), own = strides_of(x);
  if (args.outputs[0].size() == 0) return;
  Shape dims, strides;
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Each dimension is two: how often, and what.
    dims.insert(dims.end(), {args.outputs[0].shape()[i] / x[i], x[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  rearrange(args, dims, strides);
}

// y[n, c, h*block + i, w*block + j] = x[n, channel, h, w], where the channel is (i*block + j)*C + c, or
// c*block*block + i*block + j when the order is "channel_first".
void depth_to_space(const KernelArgs& args) {
  const Shape& y = args.outputs[0].shape();
  std::int64_t block = attr<std::int64_t>(args.node, "block"), height = y[2] / block, width = y[3] / block;
  std::int64_t area = height * width, channels = y[1];
  bool depth_first = attr<std::string>(args.node, "order") == "depth_first";
  std::int64_t per_channel = depth_first ? 1 : block * block, per_pixel = depth_first ? channels : 1;
  rearrange(args, {y[0], channels, height, block, width, block},
            {channels * block * block * area, per_channel * area, width, block * per_pixel * area, 1,
             per_pixel * area});
}

// y[n, channel, h, w] = x[n, c, h*block + i, w*block + j], with the channel as above.
void space_to_depth(const KernelArgs& args) {
  const Shape &x = args.inputs[0]->shape(), &y = args.outputs[0].shape();
  std::int64_t block = attr<std::int64_t>(args.node, "block"), area = x[2] * x[3];
  Shape dims = {x[0], block, block, x[1], y[2], y[3]};
  Shape strides = {x[1] * area, x[3], 1, area, block * x[3], block};
  if (attr<std::string>(args.node, "order") == "channel_first") {
    dims = {x[0], x[1], block, block, y[2], y[3]};
    strides = {x[1] * area, area, x[3], 1, block * x[3], block};
  }
  rearrange(args, dims, strides);
}

}  // namespace octet::ref
