#include "kernels/simd/int8_finish.h"
#include "kernels/simd/int8_parts.h"

// Depthwise convolution: a lane is a channel. The products of two taps are added in 16 bits.
namespace octet::simd::OCTET_SIMD {
namespace {

// kShift: sums start from `init`, which takes back what shifting the left side adds.
template <bool kShift>
inline Sums start_of(const Int8Channels& channels) {
  Sums sums;
  for (int v = 0; v < 4; ++v) sums.v[v] = kShift ? load(channels.init + v * kLanes) : all(0);
  return sums;
}

// The ways to the sums of an output whose taps are at p + offsets.

// kSize x kSize taps, side by side, in kRounds rounds.
template <bool kShift, int kSize, int kRounds>
class SquareTaps {
 public:
  SquareTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), row_(plane.offsets[kSize]), shift_(shift_of(channels)) {}

  Sums operator()(const std::int8_t* p) const {
    constexpr int kTaps = kSize * kSize, kPairs = (kTaps + 1) / 2, kGroups = 2 * kRounds;
    const std::int8_t* rows[kSize];
    for (int y = 0; y < kSize; ++y) rows[y] = p + y * row_;
    auto tap = [&](int t) {
      t = t < kTaps ? t : kTaps - 1;
      return rows[t / kSize] + t % kSize * kBlockBytes;
    };
    int pair = 0;
    auto group = [&](int g) {
      Words sum = zero_words();
      int count = kPairs / kGroups + (g < kPairs % kGroups ? 1 : 0);
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i, ++pair) {
        Words both = products<kShift>(tap(2 * pair), tap(2 * pair + 1),
                                      load_weights(channels_.weights + pair * 2 * kBlockBytes), shift_);
        sum = i == 0 ? both : add(sum, both);
      }
      return sum;
    };
    Sums sums = start_of<kShift>(channels_);
#pragma GCC unroll 16
    for (int r = 0; r < kRounds; ++r) {
      Words first = group(2 * r), second = group(2 * r + 1);
      sums = widen(sums, first, second);
    }
    return sums;
  }

 private:
  const Int8Channels channels_;  // a copy, which no store of a result can change
  std::int64_t row_;
  Ints shift_;
};

template <bool kShift>
class AnyTaps {
 public:
  AnyTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), offsets_(plane.offsets), shift_(shift_of(channels)) {}

  Sums operator()(const std::int8_t* p) const {
    Sums sums = start_of<kShift>(channels_);
    const std::int64_t* offsets = offsets_;
    const std::int8_t* weights = channels_.weights;
    auto next = [&] {
      Words both = products<kShift>(p + offsets[0], p + offsets[1], load_weights(weights), shift_);
      offsets += 2;
      weights += 2 * kBlockBytes;
      return both;
    };
    const std::uint8_t* groups = channels_.groups;
    for (std::int64_t round = 0; round < channels_.rounds; ++round, groups += 2) {
      Words first = next(), second = zero_words();
      for (int i = 1; i < groups[0]; ++i) first = add(first, next());
      for (int i = 0; i < groups[1]; ++i) second = add(second, next());
      sums = widen(sums, first, second);
    }
    return sums;
  }

 private:
  const Int8Channels channels_;
  const std::int64_t* offsets_;
  Ints shift_;
};

class WideTaps {
 public:
  WideTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), offsets_(plane.offsets), taps_(plane.taps) {}

  Sums operator()(const std::int8_t* p) const {
    Sums sums = {{all(0), all(0), all(0), all(0)}};
    for (std::int64_t t = 0; t < taps_; t += 2)
      sums = add_wide(sums, p + offsets_[t], p + offsets_[t + 1], channels_.weights + t * 2 * kBlockBytes);
    for (int v = 0; v < 4; ++v)
      sums.v[v] = add(shift_right<kWideShift>(sums.v[v]), load(channels_.init + v * kLanes));
    return sums;
  }

 private:
  const Int8Channels channels_;
  const std::int64_t* offsets_;
  std::int64_t taps_;
};

template <class Way>
void run(const Int8Plane& given, const Int8Channels& channels, const Int8Target& target) {
  const Int8Plane plane = given;  // copies, which no store of a result can change
  const Way sums_of(plane, channels);
  const ByteClamp clamp(target);
  if (clamp.possible) {
    with_clamp(clamp, [&](auto clamped) {
      const float *multiplier = channels.multiplier, *bias = channels.bias;
      std::int64_t columns = channels.columns, stride = target.stride;
      std::int8_t* to = target.integers;
      for (std::int64_t y = 0; y < plane.rows; ++y) {
        const std::int8_t* p = plane.data + y * plane.row;
        for (std::int64_t x = 0; x < plane.columns; ++x, p += plane.step, to += stride) {
          Sums sums = sums_of(p);
          for (int v = 0; v < 4; ++v)
            sums.v[v] =
                clamped(fma(to_floats(sums.v[v]), load(multiplier + v * kLanes), load(bias + v * kLanes)));
          if (columns == kBlockBytes) {
            store_block(to, sums.v, clamp.low);
          } else {
            std::int8_t bytes[kBlockBytes];
            store_block(bytes, sums.v, clamp.low);
            copy_bytes(to, bytes, columns);
          }
        }
      }
    });
    return;
  }
  alignas(64) std::int32_t block[kBlockRows * kBlockBytes];
  for (std::int64_t y = 0; y < plane.rows; ++y)
    for (std::int64_t first = 0; first < plane.columns; first += kBlockRows) {
      std::int64_t count = plane.columns - first < kBlockRows ? plane.columns - first : kBlockRows;
      const std::int8_t* p = plane.data + y * plane.row + first * plane.step;
      for (std::int64_t x = 0; x < count; ++x, p += plane.step)
        store_in_order(block + x * kBlockBytes, sums_of(p));
      finish<4>(block, count, channels.plain, channels.plain + kBlockBytes, channels.columns, target,
                y * plane.columns + first);
    }
}

// Whether there are size x size taps, side by side.
bool is_square(const Int8Plane& plane, int size) {
  if (plane.taps != size * size) return false;
  for (int t = 0; t < size * size; ++t)
    if (plane.offsets[t] != t / size * plane.offsets[size] + t % size * kBlockBytes) return false;
  return true;
}

// With at least kRounds rounds, which `channels` has.
template <bool kShift, int kSize, int kRounds = 1>
void run_square(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  constexpr int kMostRounds = (kSize * kSize + 3) / 4;
  if constexpr (kRounds < kMostRounds)
    if (channels.rounds > kRounds) return run_square<kShift, kSize, kRounds + 1>(plane, channels, target);
  run<SquareTaps<kShift, kSize, kRounds>>(plane, channels, target);
}

template <bool kShift>
void run_narrow(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  if (is_square(plane, 3))
    run_square<kShift, 3>(plane, channels, target);
  else if (is_square(plane, 5))
    run_square<kShift, 5>(plane, channels, target);
  else
    run<AnyTaps<kShift>>(plane, channels, target);
}

}  // namespace

void int8_depthwise(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  if (channels.wide)
    run<WideTaps>(plane, channels, target);
  else if (channels.has_init)
    run_narrow<true>(plane, channels, target);
  else
    run_narrow<false>(plane, channels, target);
}

std::int64_t int8_sum_place(std::int64_t channel) {
  return sum_place(channel);
}
std::int64_t int8_weight_place(std::int64_t channel) {
  return weight_place(channel);
}

}  // namespace octet::simd::OCTET_SIMD
