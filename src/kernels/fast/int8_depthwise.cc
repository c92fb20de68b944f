#include <cstring>

#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

// qconv2d with one input and one output channel a group.
namespace octet::fast {
namespace {

struct PackedBlock {
  simd::Int8Channels channels;
  std::vector<std::uint8_t> groups;
  Tensor memory;  // what else `channels` points into
};

struct PackedDepthwise : Prepared {
  std::vector<PackedBlock> blocks;
};

// How many pairs of taps each sum in 16 bits takes, two groups a round; empty: not even one. reach(pair)
// calls add(channel, weight) for the weights of a pair of taps.
class Grouping {
 public:
  Grouping(const PairLimits& limits, std::int64_t channels, std::int64_t taps, const std::int8_t* weights)
      : limits_(limits), channels_(channels), taps_(taps), weights_(weights) {}

  std::vector<std::uint8_t> groups() const {
    std::int64_t pairs = (taps_ + 1) / 2, half = (pairs + 1) / 2;
    auto length = [](std::int64_t count) { return static_cast<std::uint8_t>(count); };
    if (longest(0, half) == half && longest(half, pairs - half) == pairs - half)
      return {length(half), length(pairs - half)};
    std::vector<std::uint8_t> groups;
    for (std::int64_t first = 0; first < pairs;) {
      std::int64_t count = longest(first, pairs - first);
      if (count == 0) return {};
      groups.push_back(length(count));
      first += count;
    }
    if (groups.size() % 2 != 0) groups.push_back(0);
    return groups;
  }

 private:
  // How many pairs from `first` on, at most `limit`, can be added.
  std::int64_t longest(std::int64_t first, std::int64_t limit) const {
    std::int64_t count = limit;
    for (std::int64_t c = 0; c < channels_; ++c) {
      Reach reach;
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t t = 2 * (first + i); t < std::min(2 * (first + i) + 2, taps_); ++t)
          reach.add(limits_.weight(weights_[c * taps_ + t]));
        if (!reach.fits(limits_.left)) count = i;
      }
    }
    return count;
  }

  PairLimits limits_;
  std::int64_t channels_, taps_;
  const std::int8_t* weights_;
};

PackedBlock pack_block(const simd::Int8Routines& routines, const std::int8_t* weights, std::int64_t count,
                       std::int64_t taps, LeftRange range, const Rescaling& rescaling, std::int64_t first) {
  PackedBlock block;
  PairLimits limits(routines.features, range);
  std::int64_t bytes = routines.features.bytes, pairs = (taps + 1) / 2;
  block.groups = Grouping(limits, count, taps, weights).groups();
  simd::Int8Channels& channels = block.channels;
  channels.wide = block.groups.empty();
  channels.columns = count;
  channels.shift = static_cast<std::int8_t>(channels.wide ? 0 : limits.shift);
  channels.rounds = static_cast<std::int64_t>(block.groups.size() / 2);
  channels.groups = block.groups.data();

  std::int64_t header = bytes * static_cast<std::int64_t>(sizeof(std::int32_t) + 4 * sizeof(float));
  block.memory = Tensor(DType::kInt8, {header + pairs * bytes * (channels.wide ? 4 : 2)});
  std::int8_t* memory = block.memory.mutable_data<std::int8_t>().data();
  std::fill_n(memory, block.memory.size(), std::int8_t{0});
  auto* init = reinterpret_cast<std::int32_t*>(memory);
  auto* multiplier = reinterpret_cast<float*>(init + bytes);
  float *bias = multiplier + bytes, *plain = bias + bytes;
  channels.init = init;
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
      std::int8_t weight = weights[c * taps + t];
      init[place] -= static_cast<std::uint8_t>(channels.shift) * weight;
      if (channels.wide)
        wide_weights[(t / 2 * bytes + place) * 2 + t % 2] = weight;
      else
        memory[header + (t / 2 * bytes + pair_place) * 2 + t % 2] = weight;
    }
  }
  return block;
}

bool fits(const PrepareArgs& args) {
  if (!can_pack(args)) return false;
  const Shape& weight = args.value(1)->shape;
  return weight[1] == 1 && weight[0] == attr<std::int64_t>(args.node, "groups") &&
         weight[2] * weight[3] <= simd::kMaxDepthwiseTaps;
}

std::shared_ptr<const Prepared> prepare(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedDepthwise>();
  Tensor weight = args.constant(1);
  const simd::Int8Routines& routines = args.simd->i8;
  std::int64_t channels = weight.dim(0), taps = weight.dim(2) * weight.dim(3);
  Rescaling rescaling(args);
  for (std::int64_t first = 0; first < channels; first += routines.features.bytes)
    packed->blocks.push_back(pack_block(routines, weight.data<std::int8_t>().data() + first * taps,
                                        std::min<std::int64_t>(routines.features.bytes, channels - first),
                                        taps, left_range(args.node), rescaling, first));
  return packed;
}

// Whole blocks are read of each pixel, also where the channels don't fill the last one. Behind the last
// pixels there may be no memory, so these are read from a copy.
class Depthwise {
 public:
  explicit Depthwise(const KernelArgs& args)
      : packed_(static_cast<const PackedDepthwise&>(*args.prepared)), x_(*args.inputs[0]) {
    const Tensor& weight = *args.inputs[1];
    image_.window = ops::conv_window(args.node, x_.dim(2), x_.dim(3), weight.dim(2), weight.dim(3));
    channels_ = image_.pixel = x_.dim(1);
    image_.row = x_.dim(3) * channels_;
    image_.image = x_.dim(2) * image_.row;
    rows_ = x_.dim(0) * image_.window.y.out * image_.window.x.out;
    pixels_ = x_.dim(0) * x_.dim(2) * x_.dim(3);
    taps_ = weight.dim(2) * weight.dim(3);
    read_ = static_cast<std::int64_t>(packed_.blocks.size()) * args.simd->i8.features.bytes;
    first_copied_ = std::clamp<std::int64_t>((pixels_ * channels_ - read_) / channels_ + 1, 0, pixels_);
    if (read_ == channels_) first_copied_ = pixels_;
    // Chunks that stay in the L1 cache while the blocks go over them.
    constexpr std::int64_t kBytes = 16 << 10, kMinRows = 16, kMaxRows = 256;
    std::int64_t share = (rows_ + task_count(args.pool.threads()) - 1) / task_count(args.pool.threads());
    chunk_ = std::min(std::clamp(kBytes / channels_, kMinRows, kMaxRows), std::max(share, kMinRows));
  }

  std::size_t scratch(const KernelArgs& args) const {
    return zero_bytes() + tail_bytes() +
           static_cast<std::size_t>(task_count(args.pool.threads()) * taps_ * chunk_) * sizeof(void*);
  }

  void run(const KernelArgs& args) {
    image_.data = x_.data<std::int8_t>().data();
    auto* zeros = reinterpret_cast<std::int8_t*>(args.scratch.data());
    std::memset(zeros, 0, zero_bytes() + tail_bytes());
    image_.zeros = zeros;
    std::int8_t* tail = zeros + zero_bytes();
    std::memcpy(tail, image_.data + first_copied_ * channels_,
                static_cast<std::size_t>((pixels_ - first_copied_) * channels_));
    auto* memory = reinterpret_cast<const std::int8_t**>(tail + tail_bytes());

    Epilogue epilogue = read_epilogue(args.node, args.input(4));
    simd::Int8Target whole = int8_target(args, epilogue);
    whole.stride = channels_;
    std::int64_t chunks = (rows_ + chunk_ - 1) / chunk_;
    std::int64_t tasks = std::min(chunks, task_count(args.pool.threads()));
    args.pool.parallel_for(tasks, [&](std::int64_t task) {
      const std::int8_t** pointers = memory + task * taps_ * chunk_;
      for (std::int64_t chunk = task; chunk < chunks; chunk += tasks) {
        std::int64_t first = chunk * chunk_, count = std::min(chunk_, rows_ - first);
        image_.point(first, count, chunk_, pointers);
        if (reads_copied(first + count - 1)) use_copy(pointers, count, tail);
        simd::Int8Rows rows = {.pointers = pointers,
                               .stride = chunk_,
                               .offset = 0,
                               .rows = count,
                               .segments = taps_,
                               .units = 0};
        for (const PackedBlock& block : packed_.blocks) {
          args.simd->i8.depthwise(rows, block.channels, advance(whole, first * channels_ + rows.offset));
          rows.offset += args.simd->i8.features.bytes;
        }
      }
    });
  }

 private:
  std::size_t zero_bytes() const { return static_cast<std::size_t>((read_ + 63) / 64 * 64); }
  std::size_t tail_bytes() const {
    return static_cast<std::size_t>(((pixels_ - first_copied_) * channels_ + read_ + 63) / 64 * 64);
  }

  // Whether the outputs up to `last` can reach a pixel that is to be read from the copy.
  bool reads_copied(std::int64_t last) const {
    const ops::WindowAxis &wy = image_.window.y, &wx = image_.window.x;
    std::int64_t image = last / wx.out / wy.out, oy = last / wx.out % wy.out;
    std::int64_t y = std::min(oy * wy.stride - wy.before + (wy.kernel - 1) * wy.dilation, wy.in - 1);
    return (image * wy.in + y + 1) * wx.in > first_copied_;
  }

  void use_copy(const std::int8_t** pointers, std::int64_t count, const std::int8_t* tail) const {
    const std::int8_t* begin = image_.data + first_copied_ * channels_;
    for (std::int64_t t = 0; t < taps_; ++t)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int8_t*& pointer = pointers[t * chunk_ + i];
        if (pointer != image_.zeros && pointer >= begin) pointer = tail + (pointer - begin);
      }
  }

  const PackedDepthwise& packed_;
  const Tensor& x_;
  LeftImage image_;
  std::int64_t channels_, rows_, pixels_, taps_, chunk_;
  std::int64_t read_;          // bytes that are read of a pixel
  std::int64_t first_copied_;  // the first pixel that is read from the copy
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
          .drops_constants = true};
}

}  // namespace octet::fast
