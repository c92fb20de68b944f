#include "kernels/simd/int8_parts.h"
#include "kernels/simd/int8_store.h"

// Depthwise convolution of 5 x 5 taps: a lane is a channel, and of its units of four bytes above each other a
// dot product takes all. A unit serves each output that it is a part of, with weights that are shifted by
// where the output's first row lies in it, and are 0 where it reaches beyond the taps: 40 products for 25,
// but no byte is moved for any of them.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr int kTaps = 5;  // in a row and in a column
constexpr std::int64_t kQuadBytes = 4 * kLanes;

// Outputs beside each other at a time: images mostly have multiples of 7 columns.
constexpr int kTile = 7;

// Templates of the units, since not all instruction sets have them.
template <class Units>
struct QuadWeights {
  explicit QuadWeights(const Int8Panel& panel) {
#pragma GCC unroll 16
    for (int x = 0; x < kTaps; ++x)
      for (int q = 0; q < 2; ++q) v[x][q] = Units::load(panel.weights + (2 * x + q) * kQuadBytes);
  }
  Ints v[kTaps][2];
};

template <class Units, int kStride, int kCount>
[[gnu::always_inline]] inline void add_taps(const std::int8_t* quads, std::int64_t next,
                                            const QuadWeights<Units>& weights, Ints (&acc)[kCount][1]) {
#pragma GCC unroll 32
  for (int column = 0; column < (kCount - 1) * kStride + kTaps; ++column)
#pragma GCC unroll 2
    for (int q = 0; q < 2; ++q) {
      const Ints units = Units::load(quads + q * next + column * kQuadBytes);
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i)
        if (const int x = column - i * kStride; x >= 0 && x < kTaps)
          acc[i][0] = Units::add(acc[i][0], units, weights.v[x][q]);
    }
}

// The outputs of a row from `x` on, `count` of them: kCount, or less.
template <class Units, int kStride, int kCount, class Put>
[[gnu::always_inline]] inline void tile(const Int8Quads& quads, std::int64_t y, std::int64_t x,
                                        std::int64_t count, const QuadWeights<Units>& weights, Ints init,
                                        Put& put) {
  if constexpr (kCount > 1)
    if (count < kCount) return tile<Units, kStride, kCount - 1>(quads, y, x, count, weights, init, put);
  Ints acc[kCount][1];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) acc[i][0] = init;
  add_taps<Units, kStride>(quads.data + y * quads.row + x * kStride * kQuadBytes, quads.next, weights, acc);
  put(acc, y * quads.target_row + x);
}

template <class Units, int kStride, class Put>
void each_tile(const Int8Quads& given, const Int8Panel& panel, Put put) {
  const Int8Quads quads = given;  // a copy, which no store of a result can change
  const QuadWeights<Units> weights(panel);
  const Ints init = load(panel.init);
  for (std::int64_t y = 0; y < quads.rows; ++y) {
    std::int64_t x = 0;
    for (; x + kTile <= quads.columns; x += kTile)
      tile<Units, kStride, kTile>(quads, y, x, kTile, weights, init, put);
    if (x < quads.columns)
      tile<Units, kStride, kTile - 1>(quads, y, x, quads.columns - x, weights, init, put);
  }
}

// Floats, and maybe bytes of them too: what a squeeze-and-excitation block is given, whose pooling reads
// floats. Of the epilogues with no more than one of these activation functions.
class FloatsOfTile {
 public:
  explicit FloatsOfTile(const Int8Target& target)
      : epilogue_(*target.epilogue), plain_(epilogue_), clamp(bytes_of(target)) {
    const bool swish = epilogue_.form == Epilogue::Form::kHardSwish;
    possible = target.floats && !target.residual && !target.residual_integers &&
               (swish || epilogue_.form == Epilogue::Form::kClamp) &&
               (!target.integers || (clamp.possible && !clamp.by_step));
  }

  template <class Use>
  void with_activation(const Use& use) const {
    if (epilogue_.form == Epilogue::Form::kHardSwish)
      use(HardSwish(epilogue_.args));
    else
      use(Relu6(&epilogue_.high));
  }

  bool possible;

 private:
  Int8Target bytes_of(Int8Target target) {
    plain_.form = Epilogue::Form::kNone;
    target.epilogue = &plain_;
    target.floats = nullptr;
    return target;
  }
  const Epilogue& epilogue_;
  Epilogue plain_;  // without the activation function

 public:
  const ByteClamp clamp;  // of the bytes, behind that function
};

template <class Activation>
struct StoreFloats {
  template <int kCount>
  [[gnu::always_inline]] void operator()(Ints (&acc)[kCount][1], std::int64_t row) const {
    const Floats by = load(multiplier), from = load(bias);
    std::int64_t at = row * stride;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i, at += stride) {
      const Floats x = activation(fma(to_floats(acc[i][0]), by, from));
      store(floats + at, x);
      if (!integers) continue;
      const Ints bytes[1] = {clamped(x)};
      store_bytes<1>(integers + at, bytes, low);
    }
  }
  Activation activation;
  ClampedInts clamped;
  std::int8_t low;
  const float *multiplier, *bias;
  float* floats;
  std::int8_t* integers;
  std::int64_t stride;
};

// Any epilogue, through memory.
struct FinishTile {
  template <int kCount>
  void operator()(Ints (&acc)[kCount][1], std::int64_t row) const {
    alignas(64) std::int32_t sums[kTile * kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) store(sums + i * kLanes, acc[i][0]);
    finish<1>(sums, kCount, panel.multiplier, panel.bias, panel.columns, target, row);
  }
  const Int8Panel& panel;
  const Int8Target& target;
};

template <class Units>
void run(const Int8Quads& quads, const Int8Panel& panel, const Int8Target& target) {
  auto with_stride = [&](const auto& put) {
    quads.stride == 1 ? each_tile<Units, 1>(quads, panel, put) : each_tile<Units, 2>(quads, panel, put);
  };
  if (const ByteClamp clamp(target); clamp.possible && !target.residual_integers)
    with_clamp<true>(clamp, *target.epilogue, [&](auto clamped) {
      with_stride(StoreBytes<1, false, decltype(clamped)>(clamped, clamp.low, panel, target));
    });
  else if (const FloatsOfTile both(target); both.possible)
    both.with_activation([&](auto activation) {
      with_stride(StoreFloats<decltype(activation)>{activation, ClampedInts(both.clamp), both.clamp.low,
                                                    panel.multiplier, panel.bias, target.floats,
                                                    target.integers, target.stride});
    });
  else
    with_stride(FinishTile{panel, target});
}

template <class Units>
void make_quads(const std::int8_t* const (&given)[4], const std::int64_t (&given_steps)[4],
                std::int64_t pixels, std::int8_t shift, std::int8_t* to) {
  const std::int8_t* rows[4];
  std::int64_t steps[4];
  for (int r = 0; r < 4; ++r) {
    rows[r] = given[r];
    steps[r] = given_steps[r];
  }
  for (std::int64_t x = 0; x < pixels; ++x, to += kQuadBytes) {
    Units::store(to, Units::make(rows, shift));
    for (int r = 0; r < 4; ++r) rows[r] += steps[r];
  }
}

template <class Units>
auto quads_routine() -> decltype(Int8Routines::quads) {
  if constexpr (kFeatures.quads)
    return make_quads<Units>;
  else
    return nullptr;
}

template <class Units>
auto depthwise_quads_routine() -> decltype(Int8Routines::depthwise_quads) {
  if constexpr (kFeatures.quads)
    return run<Units>;
  else
    return nullptr;
}

}  // namespace

decltype(Int8Routines::quads) int8_quads() {
  return quads_routine<QuadUnits>();
}

decltype(Int8Routines::depthwise_quads) int8_depthwise_quads() {
  return depthwise_quads_routine<QuadUnits>();
}

}  // namespace octet::simd::OCTET_SIMD
