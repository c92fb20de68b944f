#include <algorithm>
#include <cmath>
#include <mutex>

#include "kernels/fast/fast.h"
#include "kernels/fast/float_conv.h"

// conv2d of 3x3 kernels with Winograd's F(4x4, 3x3), for nodes that need not be exact. A tile of 4x4 outputs
// is made of the 6x6 pixels around it: transformed, it is 36 products, each of a matrix tiles x channels with
// one channels x output channels.
namespace octet::fast {
namespace {

constexpr int kPositions = 36;

// Both ways to pack the weights, each when an image first wants it: one is four times the size of the other.
struct PreparedWinograd : Prepared {
  Tensor weight, bias;  // as they are in the graph
  Tensor packed_bias;
  std::vector<float> zeros;

  const float* transformed(const simd::FloatRoutines& routines) const {
    std::call_once(transformed_once_, [&] { transform(routines); });
    return weights_.data<float>().data();
  }
  // For images that are too small.
  const Prepared* direct(const simd::FloatRoutines& routines) const {
    std::call_once(direct_once_, [&] { direct_ = pack_conv(routines, weight, bias, 1); });
    return direct_.get();
  }

 private:
  void transform(const simd::FloatRoutines& routines) const;
  mutable std::once_flag transformed_once_, direct_once_;
  mutable Tensor weights_;
  mutable std::shared_ptr<const Prepared> direct_;
};

void PreparedWinograd::transform(const simd::FloatRoutines& routines) const {
  // simd/float_winograd.cc has the points and the other two transformations.
  const double a = std::sqrt(0.5), b = std::sqrt(2.0);
  const double g[6][3] = {{1, 0, 0},
                          {-1 / 1.5, -a / 1.5, -0.5 / 1.5},
                          {-1 / 1.5, a / 1.5, -0.5 / 1.5},
                          {1.0 / 6, b / 6, 2.0 / 6},
                          {1.0 / 6, -b / 6, 2.0 / 6},
                          {0, 0, 1}};
  std::int64_t out_channels = weight.dim(0), channels = weight.dim(1);
  std::int64_t size = packed_size(routines, channels, out_channels);
  weights_ = Tensor(DType::kFloat32, {kPositions * size});
  float* packed = weights_.mutable_data<float>().data();
  const float* from = weight.data<float>().data();
  std::vector<float> all(static_cast<std::size_t>(kPositions * channels * out_channels));
  for (std::int64_t i = 0; i < channels * out_channels; ++i) {
    const float* kernel = from + i * 9;
    double half[6][3];
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 3; ++x)
        half[y][x] = g[y][0] * kernel[x] + g[y][1] * kernel[3 + x] + g[y][2] * kernel[6 + x];
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 6; ++x)
        all[static_cast<std::size_t>((y * 6 + x) * channels * out_channels + i)] =
            static_cast<float>(half[y][0] * g[x][0] + half[y][1] * g[x][1] + half[y][2] * g[x][2]);
  }
  for (std::int64_t position = 0; position < kPositions; ++position) {
    const float* plane = all.data() + position * channels * out_channels;
    pack_panels(
        routines, channels, out_channels,
        [&](std::int64_t k, std::int64_t column) { return plane[column * channels + k]; },
        packed + position * size);
  }
}

bool fits_winograd(const PrepareArgs& args) {
  using Ints = std::vector<std::int64_t>;
  if (!constants_are_weights(args) || args.value("gate") || attr<bool>(args.node, "exact")) return false;
  const Shape& weight = args.value("weight")->shape;
  if (weight[2] != 3 || weight[3] != 3 || attr<std::int64_t>(args.node, "groups") != 1 ||
      attr<Ints>(args.node, "strides") != Ints{1, 1} || attr<Ints>(args.node, "dilations") != Ints{1, 1})
    return false;
  // With few channels the transformations cost more than they save; with many the transformed weights are so
  // large that reading them takes as long as the direct way.
  return weight[0] >= 8 && weight[1] >= 8 && weight[0] * weight[1] <= 512 * 256;
}

std::shared_ptr<const Prepared> prepare_winograd(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedWinograd>();
  prepared->weight = args.constant("weight").aligned();
  prepared->bias = args.constant("bias").aligned();
  prepared->packed_bias = pack_bias(args.simd->f32, prepared->bias);
  prepared->zeros.assign(static_cast<std::size_t>(prepared->weight.dim(1)), 0.0f);
  return prepared;
}

// How the tiles of a run are cut into blocks.
struct Blocks {
  std::int64_t tiles = 0, block = 0;  // tiles in all and in a block
  std::int64_t count = 0, slots = 0;  // of blocks; of those that are worked on at the same time
  std::int64_t input_step = 0, output_step = 0;
  bool together = false;  // all threads work on the one block

  explicit Blocks(const KernelArgs& args) {
    const auto& p = static_cast<const PreparedWinograd&>(*args.prepared);
    const Shape& out = args.outputs[0].shape();
    std::int64_t lanes = args.simd->f32.lanes;
    std::int64_t in = round_up(p.weight.dim(1), lanes), columns = round_up(p.weight.dim(0), lanes);
    tiles = out[0] * divide_up(out[2], 4) * divide_up(out[3], 4);
    // What is transformed should stay in the cache until it is used; but with few tiles at once the weights
    // are read too often.
    constexpr std::int64_t kCacheBytes = 384 << 10;
    block = std::clamp<std::int64_t>(kCacheBytes / (kPositions * 4 * (in + columns)), 24, 96);
    count = divide_up(tiles, block);
    // With few blocks for a thread, all threads work on all tiles, step by step.
    together = args.pool.threads() > 1 && count < 3 * args.pool.threads();
    if (together) count = 1;
    count = std::max<std::int64_t>(count, 1);
    block = std::max<std::int64_t>(round_up(divide_up(tiles, count), count == 1 ? 1 : 6), 1);
    count = divide_up(tiles, block);
    slots = count == 1 ? 1 : args.pool.threads();
    input_step = spread(block * in);
    output_step = spread(block * columns);
  }

  // An odd number of cache lines, lest the 36 positions share the same few places of the cache.
  static std::int64_t spread(std::int64_t floats) { return divide_up(floats, 16) / 2 * 32 + 16; }
  bool worth_it() const { return tiles >= 8; }
  std::int64_t slot_size() const { return kPositions * (input_step + output_step); }
};

std::size_t winograd_scratch(const KernelArgs& args) {
  Blocks blocks(args);
  return blocks.worth_it() ? static_cast<std::size_t>(blocks.slots * blocks.slot_size()) * sizeof(float) : 0;
}

void run_winograd(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedWinograd&>(*args.prepared);
  Blocks blocks(args);
  if (!blocks.worth_it()) {
    KernelArgs direct = args;
    direct.prepared = p.direct(args.simd->f32);
    return run_conv(direct);
  }
  const simd::FloatRoutines& routines = args.simd->f32;
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ops::Window window = ops::conv_window(args.node, x.dim(2), x.dim(3), 3, 3);
  std::int64_t channels = x.dim(1), in = round_up(channels, routines.lanes);
  std::int64_t columns = round_up(out[1], routines.lanes), size = packed_size(routines, channels, out[1]);
  const float* weights = p.transformed(routines);
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale")), nothing;
  simd::FloatTarget target = find_target(args, epilogue, out[1]);
  auto* memory = reinterpret_cast<float*>(args.scratch.data());
  simd::FloatWinograd whole{.x = x.data<float>().data(),
                            .in_h = x.dim(2),
                            .in_w = x.dim(3),
                            .channels = channels,
                            .before_y = window.y.before,
                            .before_x = window.x.before,
                            .out_h = out[2],
                            .out_w = out[3],
                            .out_channels = out[1],
                            .first = 0,
                            .count = blocks.tiles,
                            .input = memory,
                            .input_step = blocks.input_step,
                            .output = memory + kPositions * blocks.input_step,
                            .output_step = blocks.output_step,
                            .zeros = p.zeros.data(),
                            .bias = data_or_null(p.packed_bias),
                            .target = target};
  auto multiply = [&](const simd::FloatWinograd& w, std::int64_t position) {
    std::vector<const float*> rows(static_cast<std::size_t>(w.count));
    for (std::int64_t i = 0; i < w.count; ++i)
      rows[static_cast<std::size_t>(i)] = w.input + position * w.input_step + i * in;
    routines.multiply(
        {.pieces = rows.data(),
         .piece_step = w.count,
         .taps = 1,
         .depth = channels,
         .rows = w.count,
         .weights = weights + position * size,
         .bias = nullptr,
         .columns = out[1],
         .alpha = 1,
         .target = {.epilogue = &nothing, .floats = w.output + position * w.output_step, .stride = columns}});
  };
  if (blocks.together) {
    constexpr std::int64_t kTiles = 4;
    auto piece = [&](std::int64_t i) {
      simd::FloatWinograd w = whole;
      w.first = i * kTiles;
      w.count = std::min(kTiles, blocks.tiles - w.first);
      w.input += w.first * in;
      w.output += w.first * columns;
      return w;
    };
    std::int64_t pieces = divide_up(blocks.tiles, kTiles);
    args.pool.parallel_for(pieces, [&](std::int64_t i) { routines.winograd_input(piece(i)); });
    args.pool.parallel_for(kPositions, [&](std::int64_t position) { multiply(whole, position); });
    args.pool.parallel_for(pieces, [&](std::int64_t i) { routines.winograd_output(piece(i)); });
    return;
  }
  args.pool.parallel_for(blocks.count, [&](std::int64_t block, int thread) {
    simd::FloatWinograd w = whole;
    w.input += thread * blocks.slot_size();
    w.output += thread * blocks.slot_size();
    w.first = block * blocks.block;
    w.count = std::min(blocks.block, blocks.tiles - w.first);
    routines.winograd_input(w);
    for (std::int64_t position = 0; position < kPositions; ++position) multiply(w, position);
    routines.winograd_output(w);
  });
}

}  // namespace

std::vector<Implementation> float_winograd() {
  return {{.op = "conv2d",
           .name = "winograd",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_winograd,
           .fits = fits_winograd,
           .prepare = prepare_winograd,
           .scratch = winograd_scratch,
           .drops_constants = true}};
}

}  // namespace octet::fast
