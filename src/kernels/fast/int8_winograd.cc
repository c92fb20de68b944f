#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "kernels/fast/int8_conv.h"
#include "kernels/fast/int8_product.h"
#include "kernels/fast/winograd.h"

// qconv2d of 3x3 kernels with Winograd's F(4x4, 3x3) in 16 bits, to the bit, for instruction sets on which
// that is faster.
namespace octet::fast {
namespace {

// Sums must be below 2^25 (simd/int8_winograd.cc), and |x| is at most 128.
constexpr std::int64_t kMaxSumOfWeights = (1 << 25) / 128 - 1;

constexpr std::int64_t kMaxWeights = 256 * 256;  // input times output channels

// Both ways to pack the weights, each when an image first wants it: one is eight times the size of the other.
struct PreparedWinograd : Prepared {
  explicit PreparedWinograd(const PrepareArgs& args)
      : weight(args.constant("weight").aligned()), rescaling(args) {}

  const std::int16_t* transformed(const simd::Int8Routines& routines) const {
    std::call_once(transformed_once_, [&] { transform(routines); });
    return weights_.data<std::int16_t>().data();
  }
  // For images that are too small: then reading the weights takes longer than multiplying.
  const Prepared* direct(const KernelArgs& args) const {
    std::call_once(direct_once_,
                   [&] { direct_ = pack_conv(args.simd->i8.features, args.node, weight, rescaling); });
    return direct_.get();
  }

  Tensor weight;  // as it is in the graph
  Rescaling rescaling;
  std::vector<std::int32_t> sums;       // of the weights of each output channel
  std::vector<float> multiplier, bias;  // all three padded to whole vectors

 private:
  void transform(const simd::Int8Routines& routines) const;
  mutable std::once_flag transformed_once_, direct_once_;
  mutable Tensor weights_;  // [position], then as simd::Int8WinogradRoutines wants them
  mutable std::shared_ptr<const Prepared> direct_;
};

// Elements of the weights of one position.
std::int64_t position_size(const simd::Int8Routines& routines, std::int64_t channels, std::int64_t columns) {
  return round_up(columns, routines.features.lanes) * round_up(channels, 2);
}

void PreparedWinograd::transform(const simd::Int8Routines& routines) const {
  // simd/int8_winograd.cc has the points and the other two transformations. No row adds up to more than 12,
  // and 12 * 12 * 128 fits into 16 bits.
  constexpr int g[6][3] = {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 12}};
  const std::int64_t columns = weight.dim(0), channels = weight.dim(1), lanes = routines.features.lanes;
  const std::int64_t size = position_size(routines, channels, columns), pairs = divide_up(channels, 2);
  weights_ = Tensor(DType::kInt16, {kWinogradPositions * size});
  std::int16_t* to = weights_.mutable_data<std::int16_t>().data();
  std::fill_n(to, weights_.size(), std::int16_t{0});
  std::int64_t vectors = divide_up(columns, lanes), width;
  for (std::int64_t first = 0; vectors > 0; vectors -= width, first += width * lanes) {
    width = routines.winograd.panel(vectors);
    for (std::int64_t i = first; i < std::min(first + width * lanes, columns); ++i)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int8_t* kernel = weight.data<std::int8_t>().data() + (i * channels + c) * 9;
        std::int16_t* at = to + ((c / 2 * width * lanes) + i - first) * 2 + c % 2;
        for (int y = 0; y < 6; ++y) {
          int half[3];
          for (int x = 0; x < 3; ++x)
            half[x] = g[y][0] * kernel[x] + g[y][1] * kernel[3 + x] + g[y][2] * kernel[6 + x];
          for (int x = 0; x < 6; ++x)
            at[(y * 6 + x) * size] =
                static_cast<std::int16_t>(g[x][0] * half[0] + g[x][1] * half[1] + g[x][2] * half[2]);
        }
      }
    to += pairs * width * lanes * 2;
  }
}

bool fits_winograd(const PrepareArgs& args) {
  const simd::Int8Features& features = args.simd->i8.features;
  if (!features.winograd || !can_pack(args) || !is_winograd_shape(args)) return false;
  const Tensor weight = args.constant("weight");
  const std::int64_t columns = weight.dim(0), channels = weight.dim(1);
  if (weight.dtype() != DType::kInt8 || channels < 2 * features.lanes || columns < features.lanes)
    return false;
  // Measured on AVX2: from 16 x 16 channels on it is 1.5 times as fast as the direct way, from 32 x 32 to
  // 128 x 128 twice, with 256 x 256 1.3 times, as 4.7 MB of transformed weights have to be read then.
  if (channels * columns > kMaxWeights) return false;
  const std::int8_t* w = weight.data<std::int8_t>().data();
  for (std::int64_t i = 0; i < columns; ++i, w += channels * 9) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < channels * 9; ++k) sum += std::abs(w[k]);
    if (sum > kMaxSumOfWeights) return false;
  }
  return true;
}

std::shared_ptr<const Prepared> prepare_winograd(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedWinograd>(args);
  PreparedWinograd& p = *prepared;
  const std::int64_t columns = p.weight.dim(0), step = p.weight.dim(1) * 9;
  const auto padded = static_cast<std::size_t>(round_up(columns, args.simd->i8.features.lanes));
  p.sums.assign(padded, 0);
  p.multiplier.assign(padded, 0);
  p.bias.assign(padded, 0);
  auto weights = p.weight.data<std::int8_t>();
  auto multipliers = p.rescaling.multiplier.data<float>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(step); ++k)
      p.sums[i] += weights[i * static_cast<std::size_t>(step) + k];
    p.multiplier[i] = multipliers[multipliers.size() == 1 ? 0 : i];
    if (!p.rescaling.bias.empty()) p.bias[i] = p.rescaling.bias.data<float>()[i];
  }
  return prepared;
}

// The blocks of a run and where, in bytes of the scratch memory, their matrices are. A pixel of padding is in
// front of them.
struct Blocks : WinogradBlocks {
  std::int64_t in, columns;  // elements in a row of the matrices
  std::int64_t input_step, output_step;
  std::int64_t padding;

  explicit Blocks(const KernelArgs& args)
      : Blocks(args, round_up(args.inputs[0]->dim(1), 2),
               round_up(args.outputs[0].dim(1), args.simd->i8.features.lanes)) {}

  // With few tiles it takes longer to read the larger weights than is saved, above all where the direct way
  // is fast.
  bool worth_it(const KernelArgs& args) const { return tiles >= (args.simd->i8.features.dot ? 32 : 8); }
  std::int64_t slot_bytes() const { return kWinogradPositions * (input_step + output_step); }
  std::size_t bytes() const { return static_cast<std::size_t>(padding + slots * slot_bytes()); }

 private:
  Blocks(const KernelArgs& args, std::int64_t in_row, std::int64_t out_row)
      : WinogradBlocks(args, kWinogradPositions * (in_row * kWord + out_row * kSum)),
        in(in_row),
        columns(out_row),
        input_step(winograd_step(block * in * kWord)),
        output_step(winograd_step(block * columns * kSum)),
        padding(round_up(in, 64)) {}
  static constexpr std::int64_t kWord = sizeof(std::int16_t), kSum = sizeof(std::int32_t);
};

// The arguments of the direct convolution.
KernelArgs direct(const KernelArgs& args) {
  KernelArgs result = args;
  result.prepared = static_cast<const PreparedWinograd&>(*args.prepared).direct(args);
  return result;
}

std::size_t winograd_scratch(const KernelArgs& args) {
  const Blocks blocks(args);
  return blocks.worth_it(args) ? blocks.bytes() : int8_conv_scratch(direct(args));
}

void run_winograd(const KernelArgs& args) {
  const Blocks blocks(args);
  if (!blocks.worth_it(args)) return run_int8_conv(direct(args));
  const auto& p = static_cast<const PreparedWinograd&>(*args.prepared);
  const simd::Int8WinogradRoutines& routines = args.simd->i8.winograd;
  const simd::WinogradTiles tiles = winograd_tiles(args);
  const std::int16_t* weights = p.transformed(args.simd->i8);
  const std::int64_t size = position_size(args.simd->i8, tiles.channels, tiles.out_channels);
  const Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));

  // Takes back what an x_zero other than 0 adds to the sums.
  const std::int32_t zero = lhs_zero(args);
  std::vector<std::int32_t> starts = p.sums;
  for (std::int32_t& start : starts) start *= -zero;
  std::memset(args.scratch.data(), zero, static_cast<std::size_t>(blocks.padding));

  auto part = [&](const WinogradPiece& piece) {
    std::byte* memory = args.scratch.data() + blocks.padding + piece.slot * blocks.slot_bytes();
    auto* input = reinterpret_cast<std::int16_t*>(memory);
    auto* output = reinterpret_cast<std::int32_t*>(memory + kWinogradPositions * blocks.input_step);
    simd::Int8Winograd w = {
        .tiles = tiles,
        .x = args.inputs[0]->data<std::int8_t>().data(),
        .padding = reinterpret_cast<const std::int8_t*>(args.scratch.data()),
        .input = input + piece.row * blocks.in,
        .input_step = blocks.input_step / static_cast<std::int64_t>(sizeof(std::int16_t)),
        .output = output + piece.row * blocks.columns,
        .output_step = blocks.output_step / static_cast<std::int64_t>(sizeof(std::int32_t)),
        .start = starts.data(),
        .multiplier = p.multiplier.data(),
        .bias = p.bias.data(),
        .target = int8_target(args, epilogue)};
    w.tiles.first = piece.first;
    w.tiles.count = piece.count;
    w.target.stride = tiles.out_channels;
    return w;
  };
  run_winograd_blocks(
      args.pool, blocks, [&](const WinogradPiece& piece) { routines.input(part(piece)); },
      [&](const WinogradPiece& piece, std::int64_t position) {
        routines.multiply(part(piece), position, weights + position * size);
      },
      [&](const WinogradPiece& piece) { routines.output(part(piece)); });
}

}  // namespace

Implementation int8_winograd() {
  return {.op = "qconv2d",
          .name = "int8 winograd",
          .layout = LayoutNeed::kChannelsLast,
          .run = run_winograd,
          .fits = fits_winograd,
          .prepare = prepare_winograd,
          .scratch = winograd_scratch,
          .in_place = kResidual,
          .drops_constants = true};
}

}  // namespace octet::fast
