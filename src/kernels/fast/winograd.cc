#include "kernels/fast/winograd.h"

#include <algorithm>

namespace octet::fast {

bool is_winograd_shape(const PrepareArgs& args) {
  using Ints = std::vector<std::int64_t>;
  const Shape& weight = args.value("weight")->shape;
  return weight[2] == 3 && weight[3] == 3 && attr<std::int64_t>(args.node, "groups") == 1 &&
         attr<Ints>(args.node, "strides") == Ints{1, 1} && attr<Ints>(args.node, "dilations") == Ints{1, 1};
}

simd::WinogradTiles winograd_tiles(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ops::Window window = ops::conv_window(args.node, x.dim(2), x.dim(3), 3, 3);
  return {.in_h = x.dim(2),
          .in_w = x.dim(3),
          .channels = x.dim(1),
          .before_y = window.y.before,
          .before_x = window.x.before,
          .out_h = out[2],
          .out_w = out[3],
          .out_channels = out[1],
          .first = 0,
          .count = out[0] * divide_up(out[2], 4) * divide_up(out[3], 4)};
}

WinogradBlocks::WinogradBlocks(const KernelArgs& args, std::int64_t tile_bytes)
    : tiles(winograd_tiles(args).count) {
  // What is transformed should stay in the cache until it is used; but with few tiles at once the weights
  // are read too often.
  constexpr std::int64_t kCacheBytes = 384 << 10;
  block = std::clamp<std::int64_t>(kCacheBytes / tile_bytes, 24, 96);
  count = divide_up(tiles, block);
  // With few blocks for a thread, all threads work on all tiles, step by step.
  together = args.pool.threads() > 1 && count < 3 * args.pool.threads();
  if (together) count = 1;
  count = std::max<std::int64_t>(count, 1);
  block = std::max<std::int64_t>(round_up(divide_up(tiles, count), count == 1 ? 1 : 6), 1);
  count = divide_up(tiles, block);
  slots = count == 1 ? 1 : args.pool.threads();
}

}  // namespace octet::fast
