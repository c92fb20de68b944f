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

// kSize x kSize taps, those of each row as far apart as of the first, in kRounds rounds.
template <bool kShift, int kSize, int kRounds>
class SquareTaps {
 public:
  SquareTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), row_(plane.offsets[kSize]), shift_(shift_of(channels)) {
    for (int x = 0; x < kSize; ++x) columns_[x] = plane.offsets[x];
  }

  Sums operator()(const std::int8_t* p) const {
    constexpr int kTaps = kSize * kSize, kPairs = (kTaps + 1) / 2, kGroups = 2 * kRounds;
    const std::int8_t* rows[kSize];
    for (int y = 0; y < kSize; ++y) rows[y] = p + y * row_;
    auto tap = [&](int t) {
      t = t < kTaps ? t : kTaps - 1;
      return rows[t / kSize] + columns_[t % kSize];
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
  std::int64_t row_, columns_[kSize];
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

// The sums of outputs to what is stored, with the most frequent epilogue and with any other. kWhole: it is
// known that all channels of the block exist.
template <bool kWhole, class Clamped>
class PutBytes {
 public:
  PutBytes(const Clamped& clamped, std::int8_t low, const Int8Channels& channels, const Int8Target& target)
      : clamped_(clamped),
        low_(low),
        multiplier_(channels.multiplier),
        bias_(channels.bias),
        columns_(channels.columns),
        to_(target.integers),
        stride_(target.stride) {}

  // For the next output.
  [[gnu::always_inline]] void operator()(Sums sums) {
    for (int v = 0; v < 4; ++v)
      sums.v[v] =
          clamped_(fma(to_floats(sums.v[v]), load(multiplier_ + v * kLanes), load(bias_ + v * kLanes)));
    if (kWhole || columns_ == kBlockBytes) {
      store_block(to_, sums.v, low_);
    } else {
      std::int8_t bytes[kBlockBytes];
      store_block(bytes, sums.v, low_);
      copy_bytes(to_, bytes, columns_);
    }
    to_ += stride_;
  }
  void end() {}

 private:
  Clamped clamped_;
  std::int8_t low_;
  const float *multiplier_, *bias_;
  std::int64_t columns_;
  std::int8_t* to_;
  std::int64_t stride_;
};

class PutAny {
 public:
  PutAny(const Int8Channels& channels, const Int8Target& target) : channels_(channels), target_(target) {}

  void operator()(Sums sums) {
    store_in_order(block_ + count_ * kBlockBytes, sums);
    if (++count_ == kBlockRows) end();
  }
  void end() {
    finish<4>(block_, count_, channels_.plain, channels_.plain + kBlockBytes, channels_.columns, target_,
              first_);
    first_ += count_;
    count_ = 0;
  }

 private:
  const Int8Channels& channels_;
  const Int8Target& target_;
  std::int64_t first_ = 0, count_ = 0;
  alignas(64) std::int32_t block_[kBlockRows * kBlockBytes];
};

// Calls use(put), where put takes the sums of one output after the other.
template <bool kWhole, class Use>
[[gnu::always_inline]] inline void with_put(const Int8Channels& channels, const Int8Target& target,
                                            const Use& use) {
  if (const ByteClamp clamp(target); clamp.possible && !target.residual_integers)
    with_clamp<true>(clamp, *target.epilogue, [&](auto clamped) {
      use(PutBytes<kWhole, decltype(clamped)>(clamped, clamp.low, channels, target));
    });
  else
    use(PutAny(channels, target));
}

template <class Way>
void run(const Int8Plane& given, const Int8Channels& channels, const Int8Target& target) {
  const Int8Plane plane = given;  // copies, which no store of a result can change
  const Way sums_of(plane, channels);
  with_put<false>(channels, target, [&](auto&& put) {
    for (std::int64_t y = 0; y < plane.rows; ++y) {
      const std::int8_t* p = plane.data + y * plane.row;
      for (std::int64_t x = 0; x < plane.columns; ++x, p += plane.step) put(sums_of(p));
    }
    put.end();
  });
}

// Whether there are size x size taps, those of each row as far apart as of the first.
bool is_square(const Int8Plane& plane, int size) {
  if (plane.taps != size * size) return false;
  for (int t = 0; t < size * size; ++t)
    if (plane.offsets[t] != t / size * plane.offsets[size] + plane.offsets[t % size]) return false;
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

// Strips: 3 x 3 taps, read where they are. The bytes of three pixels above each other become units of four,
// of which a dot product takes three; such a column serves up to three outputs. Templates of the vector,
// since only instruction sets with a dot product can compile them.
template <class Vector, bool kShift, bool kWhole>
class Columns {
 public:
  struct Column {
    Vector v[4];
  };

  Columns(const Int8Strip& strip, const Int8Channels& channels)
      : strip_(strip), columns_(channels.columns), shift_(shift_of(channels)) {}

  [[gnu::always_inline]] Column operator()(std::int64_t x) const {
    if (x < 0 || x >= strip_.width) return {{shift_, shift_, shift_, shift_}};
    Vector pixels[3];
    for (int y = 0; y < 3; ++y) {
      const std::int8_t* p = strip_.rows[y] + x * strip_.steps[y];
      if constexpr (kWhole)
        std::memcpy(&pixels[y], p, sizeof(Vector));
      else
        pixels[y] = load_bytes_first(p, columns_, shift_);
      if constexpr (kShift) pixels[y] = add_bytes(pixels[y], shift_);
    }
    Vector low = low_bytes(pixels[0], pixels[1]), high = high_bytes(pixels[0], pixels[1]);
    Vector low2 = low_bytes(pixels[2], shift_), high2 = high_bytes(pixels[2], shift_);
    return {{low_words(low, low2), high_words(low, low2), low_words(high, high2), high_words(high, high2)}};
  }

 private:
  const Int8Strip strip_;
  std::int64_t columns_;
  Vector shift_;
};

template <class Vector, bool kShift, bool kWhole, int kStride, class Put>
[[gnu::always_inline]] inline void each_output(const Int8Strip& strip, const Int8Channels& given, Put put) {
  const Int8Channels channels = given;  // copies, which no store of a result can change
  const Columns<Vector, kShift, kWhole> column(strip, channels);
  Vector weights[3][4];
  std::memcpy(weights, channels.weights, sizeof weights);
  std::int64_t x = -strip.before, count = strip.columns;
  auto first = column(x), second = column(x + 1);
  for (std::int64_t i = 0; i < count; ++i, x += kStride) {
    if constexpr (kStride > 1) second = column(x + 1);
    auto third = column(x + 2);
    Sums sums = start_of<kShift>(channels);
    for (int v = 0; v < 4; ++v) sums.v[v] = dot(sums.v[v], first.v[v], weights[0][v]);
    for (int v = 0; v < 4; ++v) sums.v[v] = dot(sums.v[v], second.v[v], weights[1][v]);
    for (int v = 0; v < 4; ++v) sums.v[v] = dot(sums.v[v], third.v[v], weights[2][v]);
    put(sums);
    first = kStride == 1 ? second : third;
    second = third;
  }
  put.end();
}

template <class Vector, bool kShift, bool kWhole, int kStride>
void run_strip(const Int8Strip& strip, const Int8Channels& channels, const Int8Target& target) {
  with_put<kWhole>(channels, target,
                   [&](auto put) { each_output<Vector, kShift, kWhole, kStride>(strip, channels, put); });
}

template <class Vector>
void choose_strip(const Int8Strip& strip, const Int8Channels& channels, const Int8Target& target) {
  auto with_stride = [&]<bool kShift, bool kWhole>() {
    strip.stride == 1 ? run_strip<Vector, kShift, kWhole, 1>(strip, channels, target)
                      : run_strip<Vector, kShift, kWhole, 2>(strip, channels, target);
  };
  auto with_columns = [&]<bool kShift>() {
    channels.columns == kBlockBytes ? with_stride.template operator()<kShift, true>()
                                    : with_stride.template operator()<kShift, false>();
  };
  channels.shift ? with_columns.template operator()<true>() : with_columns.template operator()<false>();
}

template <class Vector>
auto strip_routine() -> decltype(Int8Routines::depthwise_strip) {
  if constexpr (kFeatures.strips)
    return choose_strip<Vector>;
  else
    return nullptr;
}

}  // namespace

decltype(Int8Routines::depthwise_strip) int8_depthwise_strip() {
  return strip_routine<Ints>();
}

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
