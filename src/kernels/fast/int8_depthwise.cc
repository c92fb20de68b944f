#include <cstring>

#include "kernels/fast/int8_product.h"
#include "kernels/fast/int8_quads.h"
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
  std::shared_ptr<const Prepared> quads;  // or null, and the rest
  bool strips = false;                    // for Int8Routines::depthwise_strip
  std::int64_t pixels = 1;  // that lie beside each other in the only block, where channels don't fill it
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
                       std::int64_t taps, bool strips, LhsRange range, const Rescaling& rescaling,
                       std::int64_t first) {
  PackedBlock block;
  PairLimits limits(routines.features, range);
  std::int64_t bytes = routines.features.bytes, pairs = (taps + 1) / 2;
  const bool fit_bytes =
      std::all_of(weights, weights + count * taps, [](int w) { return w >= -128 && w <= 127; });
  if (!strips && fit_bytes) block.groups = Grouping(limits, count, taps, weights).groups();
  simd::Int8Channels& channels = block.channels;
  channels.wide = !strips && block.groups.empty();
  channels.columns = count;
  channels.shift = static_cast<std::int8_t>(channels.wide ? 0 : limits.shift);
  channels.has_init = channels.shift != 0;
  channels.rounds = static_cast<std::int64_t>(block.groups.size() / 2);
  channels.groups = block.groups.data();

  std::int64_t header = bytes * static_cast<std::int64_t>(2 * sizeof(std::int32_t) + 4 * sizeof(float));
  std::int64_t weight_bytes = strips ? 3 * bytes * 4 : pairs * bytes * (channels.wide ? 4 : 2);
  block.memory = Tensor(DType::kInt8, {header + weight_bytes});
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
      if (strips)
        memory[header + (t % 3 * bytes + place) * 4 + t / 3] = static_cast<std::int8_t>(weight);
      else if (channels.wide)
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
  packed->quads = prepare_quads(args);
  if (packed->quads) return packed;
  Tensor weight = args.constant("weight");
  const simd::Int8Routines& routines = args.simd->i8;
  std::int64_t channels = weight.dim(0), taps = weight.dim(2) * weight.dim(3);
  Rescaling rescaling(args);
  const std::vector<std::int16_t> weights = weights_of(weight);
  const std::int64_t bytes = routines.features.bytes;
  const bool is_plain = channels == attr<std::int64_t>(args.node, "groups") &&
                        weight.dtype() == DType::kInt8 && !args.value("x_zero");
  if (is_plain && channels > 0 && 2 * channels <= bytes) {
    packed->pixels = bytes / channels;
    std::vector<std::int16_t> repeated;
    for (std::int64_t i = 0; i < packed->pixels; ++i)
      repeated.insert(repeated.end(), weights.begin(), weights.end());
    packed->blocks.push_back(pack_block(routines, repeated.data(), packed->pixels * channels, taps, false,
                                        lhs_range(args.node), rescaling.repeated(packed->pixels), 0));
    return packed;
  }
  ops::Window window = ops::conv_window(args.node, kUnknown, kUnknown, weight.dim(2), weight.dim(3));
  packed->strips = routines.features.strips && weight.dim(2) == 3 && weight.dim(3) == 3 &&
                   window.x.dilation == 1 && window.x.stride <= 2 && is_plain;
  for (std::int64_t first = 0; first < channels; first += bytes)
    packed->blocks.push_back(pack_block(routines, weights.data() + first * taps,
                                        std::min<std::int64_t>(bytes, channels - first), taps, packed->strips,
                                        lhs_range(args.node), rescaling, first));
  return packed;
}

// A few rows of outputs at a time, in some of the blocks of channels. Strips read the image where it is. For
// others their part of it is copied, with its padding and block by block, so that all taps are loads of whole
// aligned blocks.
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
    return packed_.strips ? 0 : static_cast<std::size_t>(args.pool.threads() * copy_bytes());
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
      std::int64_t chunk = task / groups_, image = chunk / per_image, y = chunk % per_image * rows_;
      std::int64_t rows = std::min(rows_, window_.y.out - y);
      std::int64_t channel = task % groups_ * blocks_ * block_;
      std::int64_t channels = std::min(blocks_ * block_, channels_ - channel);
      if (packed_.strips) return run_strips(args, whole, image, y, y + rows, channel, channel + channels);
      auto* copy = reinterpret_cast<std::int8_t*>(args.scratch.data()) + thread * copy_bytes();
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

  // Outputs of rows [y, end_y) and channels [channel, end) of an image.
  void run_strips(const KernelArgs& args, const simd::Int8Target& whole, std::int64_t image, std::int64_t y,
                  std::int64_t end_y, std::int64_t channel, std::int64_t end) const {
    static constexpr std::int8_t kZeros[64] = {};
    const std::int8_t* x = x_.data<std::int8_t>().data() + image * window_.y.in * window_.x.in * channels_;
    simd::Int8Strip strip = {.rows = {},
                             .steps = {},
                             .width = window_.x.in,
                             .before = window_.x.before,
                             .stride = window_.x.stride,
                             .columns = window_.x.out};
    for (; channel < end; channel += block_)
      for (std::int64_t oy = y; oy < end_y; ++oy) {
        for (std::int64_t ky = 0; ky < 3; ++ky) {
          std::int64_t iy = oy * window_.y.stride - window_.y.before + ky * window_.y.dilation;
          bool inside = iy >= 0 && iy < window_.y.in;
          strip.rows[ky] = inside ? x + iy * window_.x.in * channels_ + channel : kZeros;
          strip.steps[ky] = inside ? channels_ : 0;
        }
        std::int64_t at = (image * window_.y.out + oy) * window_.x.out * channels_ + channel;
        args.simd->i8.depthwise_strip(
            strip, packed_.blocks[static_cast<std::size_t>(channel / block_)].channels, advance(whole, at));
      }
  }

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

// Few channels: a block is several pixels beside each other. Rows of the image are copied with their padding,
// and where columns are skipped, those of each remainder one after the other: so the pixels of a tap for
// outputs beside each other always lie beside each other.
class NarrowDepthwise {
 public:
  explicit NarrowDepthwise(const KernelArgs& args)
      : packed_(static_cast<const PackedDepthwise&>(*args.prepared)),
        x_(*args.inputs[0]),
        channels_(x_.dim(1)) {
    const Tensor& weight = *args.input("weight");
    window_ = ops::conv_window(args.node, x_.dim(2), x_.dim(3), weight.dim(2), weight.dim(3));
    const ops::WindowAxis &wx = window_.x, &wy = window_.y;
    std::int64_t reach = (wx.kernel - 1) * wx.dilation;
    phase_ = (wx.out + reach / wx.stride + 1) * channels_;
    row_ = wx.stride * phase_;
    constexpr std::int64_t kBytes = 64 << 10;  // of the copy
    std::int64_t out_rows = wy.out * x_.dim(0),
                 rows = (kBytes / row_ - (wy.kernel - 1) * wy.dilation) / wy.stride;
    rows_ = std::clamp<std::int64_t>(std::min(rows, ceil_div(out_rows, task_count(args.pool.threads()))), 1,
                                     std::max<std::int64_t>(wy.out, 1));
  }

  std::size_t scratch(const KernelArgs& args) const {
    return static_cast<std::size_t>(args.pool.threads() * copy_bytes(args));
  }

  void run(const KernelArgs& args) const {
    const ops::WindowAxis &wx = window_.x, &wy = window_.y;
    Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
    simd::Int8Target whole = int8_target(args, epilogue);
    whole.stride = packed_.pixels * channels_;
    std::vector<std::int64_t> offsets;
    for (std::int64_t ky = 0; ky < wy.kernel; ++ky)
      for (std::int64_t kx = 0; kx < wx.kernel; ++kx) {
        std::int64_t x = kx * wx.dilation;
        offsets.push_back(ky * wy.dilation * row_ + x % wx.stride * phase_ + x / wx.stride * channels_);
      }
    auto taps = static_cast<std::int64_t>(offsets.size());
    if (taps % 2 != 0) offsets.push_back(offsets.back());
    const simd::Int8Channels& all = packed_.blocks[0].channels;
    simd::Int8Channels rest = all;  // of the pixels that don't fill a block
    rest.columns = wx.out % packed_.pixels * channels_;
    std::int64_t per_image = ceil_div(wy.out, rows_), blocks = wx.out / packed_.pixels;
    args.pool.parallel_for(per_image * x_.dim(0), [&](std::int64_t task, int thread) {
      auto* copy = reinterpret_cast<std::int8_t*>(args.scratch.data()) + thread * copy_bytes(args);
      std::int64_t image = task / per_image, y = task % per_image * rows_, rows = std::min(rows_, wy.out - y);
      copy_rows(image, y * wy.stride - wy.before, input_rows(rows), copy);
      simd::Int8Plane plane = {.data = copy,
                               .row = 0,
                               .step = packed_.pixels * channels_,
                               .offsets = offsets.data(),
                               .taps = taps,
                               .rows = 1,
                               .columns = blocks};
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t at = (image * wy.out + y + r) * wx.out * channels_, done = blocks * plane.step;
        plane.data = copy + r * wy.stride * row_;
        plane.columns = blocks;
        if (blocks > 0) args.simd->i8.depthwise(plane, all, advance(whole, at));
        if (rest.columns == 0) continue;
        plane.data += done;
        plane.columns = 1;
        args.simd->i8.depthwise(plane, rest, advance(whole, at + done));
      }
    });
  }

 private:
  std::int64_t input_rows(std::int64_t rows) const {
    return (rows - 1) * window_.y.stride + (window_.y.kernel - 1) * window_.y.dilation + 1;
  }
  // The last block may be read as a whole.
  std::int64_t copy_bytes(const KernelArgs& args) const {
    return ceil_div(input_rows(rows_) * row_, 64) * 64 + args.simd->i8.features.bytes;
  }

  // `rows` rows of an image from row `first` on, which may lie in the padding.
  void copy_rows(std::int64_t image, std::int64_t first, std::int64_t rows, std::int8_t* to) const {
    const ops::WindowAxis& wx = window_.x;
    const std::int8_t* x = x_.data<std::int8_t>().data() + image * window_.y.in * wx.in * channels_;
    for (std::int64_t y = first; y < first + rows; ++y, to += row_) {
      std::memset(to, 0, static_cast<std::size_t>(row_));
      if (y < 0 || y >= window_.y.in) continue;
      const std::int8_t* from = x + y * wx.in * channels_;
      for (std::int64_t phase = 0; phase < wx.stride; ++phase) {
        // Pixel i of the phase is column i * stride + phase - before of the image.
        std::int64_t begin = std::max<std::int64_t>(ceil_div(wx.before - phase, wx.stride), 0);
        std::int64_t end = std::min(ceil_div(wx.in + wx.before - phase, wx.stride), phase_ / channels_);
        if (end <= begin) continue;
        copy_pixels(from + (begin * wx.stride + phase - wx.before) * channels_, wx.stride * channels_,
                    end - begin, to + phase * phase_ + begin * channels_);
      }
    }
  }

  void copy_pixels(const std::int8_t* from, std::int64_t step, std::int64_t count, std::int8_t* to) const {
    if (step == channels_) {
      std::memcpy(to, from, static_cast<std::size_t>(count * channels_));
    } else if (channels_ % 8 == 0) {
      for (std::int64_t i = 0; i < count; ++i, from += step, to += channels_)
        for (std::int64_t c = 0; c < channels_; c += 8) std::memcpy(to + c, from + c, 8);
    } else {
      for (std::int64_t i = 0; i < count; ++i, from += step, to += channels_)
        for (std::int64_t c = 0; c < channels_; ++c) to[c] = from[c];
    }
  }

  const PackedDepthwise& packed_;
  const Tensor& x_;
  std::int64_t channels_;
  ops::Window window_;
  std::int64_t phase_, row_;  // bytes of the columns of a remainder, and of a row of the copy
  std::int64_t rows_;         // of outputs in a task
};

const PackedDepthwise& packed_of(const KernelArgs& args) {
  return static_cast<const PackedDepthwise&>(*args.prepared);
}

void run_depthwise(const KernelArgs& args) {
  if (packed_of(args).quads) return run_quads(args, *packed_of(args).quads);
  packed_of(args).pixels > 1 ? NarrowDepthwise(args).run(args) : Depthwise(args).run(args);
}

std::size_t depthwise_scratch(const KernelArgs& args) {
  if (packed_of(args).quads) return quads_scratch(args, *packed_of(args).quads);
  return packed_of(args).pixels > 1 ? NarrowDepthwise(args).scratch(args) : Depthwise(args).scratch(args);
}

}  // namespace

Implementation int8_depthwise() {
  return {.op = "qconv2d",
          .name = "int8 depthwise",
          .layout = LayoutNeed::kChannelsLast,
          .run = run_depthwise,
          .fits = fits,
          .prepare = prepare,
          .scratch = depthwise_scratch,
          .in_place = kResidual,
          .drops_constants = true};
}

}  // namespace octet::fast
