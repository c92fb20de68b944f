#include <algorithm>
#include <cmath>
#include <mutex>

#include "kernels/fast/fast.h"
#include "kernels/fast/float_conv.h"
#include "kernels/fast/winograd.h"

// conv2d of 3x3 kernels with Winograd's F(4x4, 3x3), for nodes that need not be exact.
namespace octet::fast {
namespace {

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
  weights_ = Tensor(DType::kFloat32, {kWinogradPositions * size});
  float* packed = weights_.mutable_data<float>().data();
  const float* from = weight.data<float>().data();
  std::vector<float> all(static_cast<std::size_t>(kWinogradPositions * channels * out_channels));
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
  for (std::int64_t position = 0; position < kWinogradPositions; ++position) {
    const float* plane = all.data() + position * channels * out_channels;
    pack_panels(
        routines, channels, out_channels,
        [&](std::int64_t k, std::int64_t column) { return plane[column * channels + k]; },
        packed + position * size);
  }
}

bool fits_winograd(const PrepareArgs& args) {
  if (!constants_are_weights(args) || args.value("gate") || attr<bool>(args.node, "exact") ||
      !is_winograd_shape(args))
    return false;
  const Shape& weight = args.value("weight")->shape;
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

// The blocks of a run and, in floats, where their matrices are.
struct Blocks : WinogradBlocks {
  std::int64_t in, columns;  // elements in a row of the matrices
  std::int64_t input_step, output_step;

  explicit Blocks(const KernelArgs& args)
      : Blocks(args, round_up(args.inputs[0]->dim(1), args.simd->f32.lanes),
               round_up(args.outputs[0].dim(1), args.simd->f32.lanes)) {}

  bool worth_it() const { return tiles >= 8; }
  std::int64_t slot_size() const { return kWinogradPositions * (input_step + output_step); }

 private:
  Blocks(const KernelArgs& args, std::int64_t in_row, std::int64_t out_row)
      : WinogradBlocks(args, kWinogradPositions * kFloat * (in_row + out_row)),
        in(in_row),
        columns(out_row),
        input_step(winograd_step(block * in * kFloat) / kFloat),
        output_step(winograd_step(block * columns * kFloat) / kFloat) {}
  static constexpr std::int64_t kFloat = sizeof(float);
};

std::size_t winograd_scratch(const KernelArgs& args) {
  Blocks blocks(args);
  return blocks.worth_it() ? static_cast<std::size_t>(blocks.slots * blocks.slot_size()) * sizeof(float) : 0;
}

void run_winograd(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedWinograd&>(*args.prepared);
  const Blocks blocks(args);
  if (!blocks.worth_it()) {
    KernelArgs direct = args;
    direct.prepared = p.direct(args.simd->f32);
    return run_conv(direct);
  }
  const simd::FloatRoutines& routines = args.simd->f32;
  const simd::WinogradTiles tiles = winograd_tiles(args);
  std::int64_t size = packed_size(routines, tiles.channels, tiles.out_channels);
  const float* weights = p.transformed(routines);
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale")), nothing;
  auto* memory = reinterpret_cast<float*>(args.scratch.data());
  const simd::FloatWinograd whole{.tiles = tiles,
                                  .x = args.inputs[0]->data<float>().data(),
                                  .input = memory,
                                  .input_step = blocks.input_step,
                                  .output = memory + kWinogradPositions * blocks.input_step,
                                  .output_step = blocks.output_step,
                                  .zeros = p.zeros.data(),
                                  .bias = data_or_null(p.packed_bias),
                                  .target = find_target(args, epilogue, tiles.out_channels)};
  auto part = [&](const WinogradPiece& piece) {
    simd::FloatWinograd w = whole;
    w.tiles.first = piece.first;
    w.tiles.count = piece.count;
    w.input += piece.slot * blocks.slot_size() + piece.row * blocks.in;
    w.output += piece.slot * blocks.slot_size() + piece.row * blocks.columns;
    return w;
  };
  auto multiply = [&](const WinogradPiece& piece, std::int64_t position) {
    const simd::FloatWinograd w = part(piece);
    std::vector<const float*> rows(static_cast<std::size_t>(piece.count));
    for (std::int64_t i = 0; i < piece.count; ++i)
      rows[static_cast<std::size_t>(i)] = w.input + position * w.input_step + i * blocks.in;
    routines.multiply(
        {.pieces = rows.data(),
         .piece_step = piece.count,
         .taps = 1,
         .depth = tiles.channels,
         .rows = piece.count,
         .weights = weights + position * size,
         .bias = nullptr,
         .columns = tiles.out_channels,
         .alpha = 1,
         .target = {
             .epilogue = &nothing, .floats = w.output + position * w.output_step, .stride = blocks.columns}});
  };
  run_winograd_blocks(
      args.pool, blocks, [&](const WinogradPiece& piece) { routines.winograd_input(part(piece)); }, multiply,
      [&](const WinogradPiece& piece) { routines.winograd_output(part(piece)); });
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
