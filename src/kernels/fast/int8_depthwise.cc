#include <cstring>

#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

// qconv2d with one input channel a group. Where a group has several output channels, its input channel is
// repeated for each of them.
namespace octet::fast {
namespace {

struct PackedBlock {
  simd::Int8Channels channels;
  std::vector<std::uint8_t> groups;
  Tensor memory;             // what else `channels` points into
  const std::int32_t* sums;  // the sum of each channel's weights, [sum_place]
};

struct PackedDepthwise : Prepared {
  std::vector<PackedBlock> blocks;
};

// How many pairs of taps each sum in 16 bits takes, two groups a round, in as few rounds as possible; empty:
// not even one.
class Grouping {
 public:
  Grouping(const PairLimits& limits, std::int64_t channels, std::int64_t taps, const std::int16_t* weights)
      : limits_(limits), channels_(channels), taps_(taps), weights_(weights) {}

  std::vector<std::uint8_t> groups() const {
    std::int64_t pairs = (taps_ + 1) / 2;
    for (std::int64_t count = 2; count <= pairs + 1; count += 2) {
      std::vector<std::uint8_t> groups;
      for (std::int64_t g = 0; g < count; ++g)
        groups.push_back(static_cast<std::uint8_t>(pairs / count + (g < pairs % count ? 1 : 0)));
      if (fit(groups)) return groups;
    }
    return {};
  }

 private:
  bool fit(const std::vector<std::uint8_t>& groups) const {
    for (std::int64_t c = 0; c < channels_; ++c) {
      std::int64_t tap = 0;
      for (std::uint8_t pairs : groups)
        for (int above = 0, below = 0, i = 0; i < 2 * pairs && tap < taps_; ++i, ++tap) {
          above += limits_.reach(weights_[c * taps_ + tap], false);
          below += limits_.reach(weights_[c * taps_ + tap], true);
          if (above > limits_.most(false) || below > limits_.most(true)) return false;
        }
    }
    return true;
  }

  PairLimits limits_;
  std::int64_t channels_, taps_;
  const std::int16_t* weights_;
};

PackedBlock pack_block(const simd::Int8Routines& routines, const std::int16_t* weights, std::int64_t count,
                       std::int64_t taps, LhsRange range, const Rescaling& rescaling, std::int64_t first) {
  PackedBlock block;
  PairLimits limits(routines.features, range);
  std::int64_t bytes = routines.features.bytes, pairs = (taps + 1) / 2;
  const bool fit_bytes =
      std::all_of(weights, weights + count * taps, [](int w) { return w >= -128 && w <= 127; });
  if (fit_bytes) block.groups = Grouping(limits, count, taps, weights).groups();
  simd::Int8Channels& channels = block.channels;
  channels.wide = block.groups.empty();
  channels.columns = count;
  channels.shift = static_cast<std::int8_t>(channels.wide ? 0 : limits.shift);
  channels.has_init = channels.shift != 0;
  channels.rounds = static_cast<std::int64_t>(block.groups.size() / 2);
  channels.groups = block.groups.data();

  std::int64_t header = bytes * static_cast<std::int64_t>(2 * sizeof(std::int32_t) + 4 * sizeof(float));
  block.memory = Tensor(DType::kInt8, {header + pairs * bytes * (channels.wide ? 4 : 2)});
  std::int8_t* memory = block.memory.mutable_data<std::int8_t>().data();
  std::fill_n(memory, block.memory.size(), std::int8_t{0});
  auto* init = reinterpret_cast<std::int32_t*>(memory);
  std::int32_t* sums = init + bytes;
  auto* multiplier = reinterpret_cast<float*>(sums + bytes);
  float *bias = multiplier + bytes, *plain = bias + bytes;
  channels.init = init;
  block.sums = sums;
  channels.multiplier = multiplier;
  channels.bias = bias;
  channels.plain = plain;
  channels.weights = memory + header;
  auto* wide_weights = reinterpret_cast<std::int16_t*>(memory + header);
  auto multipliers = rescaling.multiplier.data<float>();
  for (std::int64_t c = 0; c < count; ++c) {
    std::int64_t place = routines.sum_place(c), pair_place = routines.weight_place(c);
    auto at = static_cast<std::size_t>(first + c);
    multiplier[place] = plain[c] = multipliers[multipliers.size() == 1 ? 0 : at];
    if (!rescaling.bias.empty()) bias[place] = plain[bytes + c] = rescaling.bias.data<float>()[at];
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int16_t weight = weights[c * taps + t];
      init[place] -= static_cast<std::uint8_t>(channels.shift) * weight;
      sums[place] += weight;
      if (channels.wide)
        wide_weights[(t / 2 * bytes + place) * 2 + t % 2] = weight;
      else
        memory[header + (t / 2 * bytes + pair_place) * 2 + t % 2] = static_cast<std::int8_t>(weight);
    }
  }
  return block;
}

bool fits(const PrepareArgs& args) {
  if (!can_pack(args)) return false;
  const Shape& weight = args.value("weight")->shape;
  // Sums in 32 bits have 8 bits less where both sides are widened.
  const std::int64_t most = simd::kMaxDepthwiseTaps / (args.value("weight")->dtype == DType::kInt16 ? 2 : 1);
  return weight[1] == 1 && weight[2] * weight[3] <= most;
}

std::shared_ptr<const Prepared> prepare(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedDepthwise>();
  Tensor weight = args.constant("weight");
  const simd::Int8Routines& routines = args.simd->i8;
  std::int64_t channels = weight.dim(0), taps = weight.dim(2) * weight.dim(3);
  Rescaling rescaling(args);
  const std::vector<std::int16_t> weights = weights_of(weight);
  for (std::int64_t first = 0; first < channels; first += routines.features.bytes)
    packed->blocks.push_back(pack_block(routines, weights.data() + first * taps,
                                        std::min<std::int64_t>(routines.features.bytes, channels - first),
                                        taps, lhs_range(args.node), rescaling, first));
  return packed;
}

// A few rows of outputs at a time, in some of the blocks of channels: their part of the image is copied, with
// its padding and block by block, so that all taps are loads of whole aligned blocks.
class Depthwise {
 public:
  explicit Depthwise(const KernelArgs& args)
      : packed_(static_cast<const PackedDepthwise&>(*args.prepared)),
        x_(*args.inputs[0]),
        channels_(args.input("weight")->dim(0)),
        repeat_(x_.dim(1) == 0 ? 1 : channels_ / x_.dim(1)),
        block_(args.simd->i8.features.bytes),
        copy_(args.simd->i8.copy_blocks) {
    const Tensor& weight = *args.input("weight");
    window_ = ops::conv_window(args.node, x_.dim(2), x_.dim(3), weight.dim(2), weight.dim(3));
    width_ = (window_.x.out - 1) * window_.x.stride + (window_.x.kernel - 1) * window_.x.dilation + 1;
    constexpr std::int64_t kBytes = 128 << 10;  // of the copy
    auto blocks = std::max<std::int64_t>(static_cast<std::int64_t>(packed_.blocks.size()), 1);
    std::int64_t tasks = task_count(args.pool.threads()), out_rows = window_.y.out * x_.dim(0);
    // Tasks get rows of their own, as long as not much of what they copy is copied by others too; then
    // blocks.
    std::int64_t stride = window_.y.stride, reach = (window_.y.kernel - 1) * window_.y.dilation;
    std::int64_t least_rows = std::max<std::int64_t>(4 * (reach + 1 - stride) / stride, 1);
    std::int64_t chunks = std::clamp<std::int64_t>(out_rows / least_rows, 1, tasks);
    blocks_ = ceil_div(blocks, std::min(blocks, ceil_div(tasks, chunks)));
    groups_ = ceil_div(blocks, blocks_);
    rows_ = (kBytes / (width_ * block_ * blocks_) - reach) / stride;
    rows_ = std::min(rows_, ceil_div(out_rows, chunks));
    rows_ = std::clamp<std::int64_t>(rows_, 1, window_.y.out);
  }

  std::size_t scratch(const KernelArgs& args) const {
    return static_cast<std::size_t>(args.pool.threads() * copy_bytes());
  }

  void run(const KernelArgs& args) const {
    const std::int8_t zero = lhs_zero(args);
    Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
    simd::Int8Target whole = int8_target(args, epilogue);
    whole.stride = channels_;
    std::vector<std::int64_t> offsets;
    for (std::int64_t ky = 0; ky < window_.y.kernel; ++ky)
      for (std::int64_t kx = 0; kx < window_.x.kernel; ++kx)
        offsets.push_back((ky * window_.y.dilation * width_ + kx * window_.x.dilation) * block_);
    auto taps = static_cast<std::int64_t>(offsets.size());
    if (taps % 2 != 0) offsets.push_back(offsets.back());
    // What sums start from takes back what an x_zero other than 0 adds to them.
    std::vector<std::int32_t> starts;
    for (const PackedBlock& block : packed_.blocks)
      for (std::int64_t c = 0; zero != 0 && c < block_; ++c)
        starts.push_back(block.channels.init[c] - zero * block.sums[c]);
    std::int64_t per_image = ceil_div(window_.y.out, rows_);
    args.pool.parallel_for(groups_ * per_image * x_.dim(0), [&](std::int64_t task, int thread) {
      auto* copy = reinterpret_cast<std::int8_t*>(args.scratch.data()) + thread * copy_bytes();
      std::int64_t chunk = task / groups_, image = chunk / per_image, y = chunk % per_image * rows_;
      std::int64_t rows = std::min(rows_, window_.y.out - y);
      std::int64_t channel = task % groups_ * blocks_ * block_;
      std::int64_t channels = std::min(blocks_ * block_, channels_ - channel);
      copy_rows(image, y * window_.y.stride - window_.y.before, input_rows(rows), channel, channels, zero,
                copy);
      simd::Int8Plane plane = {.data = copy,
                               .row = window_.y.stride * width_ * block_,
                               .step = window_.x.stride * block_,
                               .offsets = offsets.data(),
                               .taps = taps,
                               .rows = rows,
                               .columns = window_.x.out};
      std::int64_t at = (image * window_.y.out + y) * window_.x.out * channels_;
      for (std::int64_t end = channel + channels; channel < end; channel += block_) {
        const PackedBlock& block = packed_.blocks[static_cast<std::size_t>(channel / block_)];
        simd::Int8Channels weights = block.channels;
        if (zero != 0) {
          weights.init = &starts[static_cast<std::size_t>(channel)];
          weights.has_init = true;
        }
        args.simd->i8.depthwise(plane, weights, advance(whole, at + channel));
        plane.data += input_rows(rows) * width_ * block_;
      }
    });
  }

 private:
  std::int64_t input_rows(std::int64_t rows) const {
    return (rows - 1) * window_.y.stride + (window_.y.kernel - 1) * window_.y.dilation + 1;
  }
  std::int64_t copy_bytes() const { return blocks_ * input_rows(rows_) * width_ * block_ + repeated_bytes(); }
  // Of a row of the image with repeated channels, behind the copy; 8 bytes are written at a time.
  std::int64_t repeated_bytes() const { return repeat_ == 1 ? 0 : window_.x.in * channels_ + 8; }

  // y gets each of the bytes of x `repeat_` times.
  void repeat(const std::int8_t* x, std::int64_t count, std::int8_t* y) const {
    for (std::int64_t i = 0; i < count; ++i, y += repeat_) {
      std::uint64_t bytes = static_cast<std::uint8_t>(x[i]) * std::uint64_t{0x0101010101010101};
      for (std::int64_t j = 0; j < repeat_; j += 8) std::memcpy(y + j, &bytes, sizeof bytes);
    }
  }

  // `rows` rows of an image from row `first` on, which may lie in the padding; of output channels from
  // `channel` on.
  void copy_rows(std::int64_t image, std::int64_t first, std::int64_t rows, std::int64_t channel,
                 std::int64_t channels, std::int8_t zero, std::int8_t* to) const {
    std::int64_t in_channels = channels_ / repeat_;
    const std::int8_t* x = x_.data<std::int8_t>().data() + image * window_.y.in * window_.x.in * in_channels;
    std::int8_t* repeated = to + copy_bytes() - repeated_bytes();
    std::int64_t begin = std::min(window_.x.before, width_);
    std::int64_t end = std::clamp(window_.x.in + window_.x.before, begin, width_);
    std::int64_t plane = rows * width_ * block_;
    auto pad = [&](std::int8_t* at, std::int64_t pixels) {
      for (std::int64_t c = 0; pixels > 0 && c < channels; c += block_, at += plane)
        std::memset(at, zero, static_cast<std::size_t>(pixels * block_));
    };
    for (std::int64_t y = first; y < first + rows; ++y, to += width_ * block_) {
      if (y < 0 || y >= window_.y.in) {
        pad(to, width_);
        continue;
      }
      pad(to, begin);
      const std::int8_t* from = x + (y * window_.x.in + begin - window_.x.before) * in_channels;
      if (repeat_ > 1) {
        repeat(from, (end - begin) * in_channels, repeated);
        from = repeated;
      }
      copy_(from + channel, channels_, channels, end - begin, to + begin * block_, plane);
      pad(to + end * block_, width_ - end);
    }
  }

  const PackedDepthwise& packed_;
  const Tensor& x_;
  std::int64_t channels_;  // of outputs
  std::int64_t repeat_;    // outputs of an input channel
  std::int64_t block_;
  decltype(simd::Int8Routines::copy_blocks) copy_;
  ops::Window window_;
  std::int64_t width_;            // pixels in a row of the copy
  std::int64_t blocks_, groups_;  // blocks of a task, and how many tasks have the same rows
  std::int64_t rows_;             // of outputs in a task
};

}  // namespace

Implementation int8_depthwise() {
  return {.op = "qconv2d",
          .name = "int8 depthwise",
          .layout = LayoutNeed::kChannelsLast,
          .run = [](const KernelArgs& args) { Depthwise(args).run(args); },
          .fits = fits,
          .prepare = prepare,
          .scratch = [](const KernelArgs& args) { return Depthwise(args).scratch(args); },
          .in_place = kResidual,
          .drops_constants = true};
}

}  // namespace octet::fast
