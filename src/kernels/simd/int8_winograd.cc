#include "kernels/simd/int8_finish.h"
#include "kernels/simd/int8_parts.h"
#include "kernels/simd/winograd_tile.h"

// Winograd's F(4x4, 3x3) in integers, exact: 36 multiplications where a convolution has 144. The points are
// 0, +-1, +-2 and infinity. Transformed pixels are at most 10 * 10 * 128, so they fit into 16 bits; so do the
// weights (fast/int8_winograd.cc), which are transformed by 24 times the usual matrix, its last row by 12
// times. What comes out is 24 * 24 times the sums, modulo 2^32, whatever overflows on the way. The 9 in that
// is odd, so it can be divided by modulo 2^32, and what is left, 64 times the sum, has no other number of its
// kind in 32 bits if the sum is below 2^25.
namespace octet::simd::OCTET_SIMD {
namespace {

// Six numbers of the image to six of the transformed one. Words are WinogradWords, which not every
// instruction set has.
template <class Words>
[[gnu::always_inline]] inline void transform_input(const Ints (&d)[6], Ints (&t)[6]) {
  Ints even = Words::sub(d[4], Words::four_times(d[2])), odd = Words::sub(d[3], Words::four_times(d[1]));
  t[1] = Words::add(even, odd);
  t[2] = Words::sub(even, odd);
  even = Words::sub(d[4], d[2]);
  odd = Words::twice(Words::sub(d[3], d[1]));
  t[3] = Words::add(even, odd);
  t[4] = Words::sub(even, odd);
  t[0] = Words::add(Words::four_times(Words::sub(d[0], d[2])), even);
  t[5] = Words::sub(Words::sub(d[5], d[3]), Words::twice(odd));
}

// Six numbers of the product to four of the output.
[[gnu::always_inline]] inline void transform_output(const Ints (&m)[6], Ints (&y)[4]) {
  Ints p = add(m[1], m[2]), q = sub(m[1], m[2]), r = add(m[3], m[4]), s = sub(m[3], m[4]);
  y[0] = add(add(m[0], p), r);
  y[1] = add(q, shift_left<1>(s));
  y[2] = add(p, shift_left<2>(r));
  y[3] = add(add(q, shift_left<3>(s)), shift_left<1>(m[5]));
}

constexpr std::int32_t kInverseOf9 = 0x38e38e39;  // modulo 2^32

// 2 * kLanes channels of a tile.
template <class Words>
[[gnu::always_inline]] inline void transform_tile(const std::int8_t* const (&pixels)[36],
                                                  std::int64_t channel, std::int16_t* to, std::int64_t step) {
  alignas(64) std::int16_t half[36 * 2 * kLanes];
#pragma GCC unroll 6
  for (int x = 0; x < 6; ++x) {
    Ints d[6], t[6];
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) d[y] = Words::widen(pixels[y * 6 + x] + channel);
    transform_input<Words>(d, t);
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) Words::store(half + (y * 6 + x) * 2 * kLanes, t[y]);
  }
  for (int y = 0; y < 6; ++y) {
    Ints d[6], t[6];
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) d[x] = Words::load(half + (y * 6 + x) * 2 * kLanes);
    transform_input<Words>(d, t);
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) Words::store(to + (y * 6 + x) * step, t[x]);
  }
}

std::int64_t row_of(const WinogradTiles& tiles) {
  return (tiles.channels + 1) / 2 * 2;
}

template <class Words>
void input(const Int8Winograd& w) {
  const WinogradTiles& tiles = w.tiles;
  std::int64_t row = row_of(tiles);
  constexpr std::int64_t kChannels = 2 * kLanes;
  for (std::int64_t i = 0; i < tiles.count; ++i) {
    std::int16_t* to = w.input + i * row;
    if (row > tiles.channels)
      for (int j = 0; j < 36; ++j) to[j * w.input_step + tiles.channels] = 0;
    const std::int8_t* pixels[36];
    find_pixels(tiles, place_of(tiles, tiles.first + i), w.x, w.padding, pixels);
    std::int64_t c = 0;
    for (; c + kChannels <= tiles.channels; c += kChannels)
      transform_tile<Words>(pixels, c, to + c, w.input_step);
    // The last vector overlaps the one before it.
    if (c = tiles.channels - kChannels; tiles.channels % kChannels != 0)
      transform_tile<Words>(pixels, c, to + c, w.input_step);
  }
}

struct WordProduct {
  const std::int16_t *left, *weights;
  std::int64_t row, pairs;
  std::int32_t* to;
  std::int64_t stride;
};

// Rows of a product, kRows at a time, with a panel of kVectors vectors.
template <class Words, int kRows, int kVectors>
void multiply_rows(const WordProduct& given, std::int64_t count) {
  const WordProduct p = given;
  const std::int16_t* left = p.left;
  std::int32_t* to = p.to;
  for (; count >= kRows; count -= kRows, left += kRows * p.row, to += kRows * p.stride) {
    Ints acc[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[r][v] = all(0);
    const std::int16_t* weights = p.weights;
    for (std::int64_t pair = 0; pair < p.pairs; ++pair, weights += kVectors * 2 * kLanes) {
      Ints right[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) right[v] = Words::load(weights + v * 2 * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        Ints a = all(unit_at(reinterpret_cast<const std::int8_t*>(left + r * p.row + 2 * pair)));
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) acc[r][v] = Words::add_pairs(acc[r][v], a, right[v]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) store(to + r * p.stride + v * kLanes, acc[r][v]);
  }
  if constexpr (kRows > 1)
    if (count > 0) {
      WordProduct rest = p;
      rest.left = left;
      rest.to = to;
      multiply_rows<Words, kRows - 1, kVectors>(rest, count);
    }
}

// 3 vectors fill the registers best, or 3 and 4.
template <class Words>
std::int64_t panel(std::int64_t vectors) {
  if constexpr (Words::kFourVectors) return vectors <= 4 ? vectors : vectors % 3 == 0 || vectors == 5 ? 3 : 4;
  return vectors == 4 ? 2 : vectors < 3 ? vectors : 3;
}

template <class Words>
void multiply(const Int8Winograd& w, std::int64_t position, const std::int16_t* weights) {
  WordProduct product = {.left = w.input + position * w.input_step,
                         .weights = weights,
                         .row = row_of(w.tiles),
                         .pairs = row_of(w.tiles) / 2,
                         .to = w.output + position * w.output_step,
                         .stride = (w.tiles.out_channels + kLanes - 1) / kLanes * kLanes};
  for (std::int64_t vectors = product.stride / kLanes, width; vectors > 0; vectors -= width) {
    width = panel<Words>(vectors);
    if (width == 1) multiply_rows<Words, Words::kTileRows[1], 1>(product, w.tiles.count);
    if (width == 2) multiply_rows<Words, Words::kTileRows[2], 2>(product, w.tiles.count);
    if (width == 3) multiply_rows<Words, Words::kTileRows[3], 3>(product, w.tiles.count);
    if constexpr (Words::kFourVectors)
      if (width == 4) multiply_rows<Words, Words::kTileRows[4], 4>(product, w.tiles.count);
    product.weights += product.pairs * width * 2 * kLanes;
    product.to += width * kLanes;
  }
}

// The 4x4 sums of a tile for a vector of output channels: `line` elements from row to row, `pixel` from one
// to the next.
template <class Words>
[[gnu::always_inline]] inline void sums_of_tile(const std::int32_t* from, std::int64_t step, Ints start,
                                                std::int32_t* to, std::int64_t line, std::int64_t pixel) {
  alignas(64) std::int32_t half[24 * kLanes];
#pragma GCC unroll 6
  for (int x = 0; x < 6; ++x) {
    Ints m[6], y[4];
#pragma GCC unroll 6
    for (int k = 0; k < 6; ++k) m[k] = load(from + (k * 6 + x) * step);
    transform_output(m, y);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) store(half + (k * 6 + x) * kLanes, y[k]);
  }
  for (int r = 0; r < 4; ++r) {
    Ints m[6], y[4];
#pragma GCC unroll 6
    for (int k = 0; k < 6; ++k) m[k] = load(half + (r * 6 + k) * kLanes);
    transform_output(m, y);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      Ints sum = shift_right<6>(Words::times(y[k], all(kInverseOf9)));
      store(to + r * line + k * pixel, add(sum, start));
    }
  }
}

template <class Words>
void output(const Int8Winograd& w) {
  constexpr std::int64_t kVectors = 4, kWidth = kVectors * kLanes;  // channels that are finished at once
  constexpr std::int64_t kTiles = 4, kLine = kTiles * 4 * kWidth;   // tiles beside each other
  const WinogradTiles& tiles = w.tiles;
  std::int64_t row = (tiles.out_channels + kLanes - 1) / kLanes * kLanes;
  alignas(64) std::int32_t sums[4 * kLine];
  for (std::int64_t i = 0, run; i < tiles.count; i += run) {
    Place place = place_of(tiles, tiles.first + i);
    std::int64_t in_row = (tiles.out_w - place.x + 3) / 4;
    run = tiles.count - i < kTiles ? tiles.count - i : kTiles;
    run = in_row < run ? in_row : run;
    std::int64_t height = tiles.out_h - place.y < 4 ? tiles.out_h - place.y : 4;
    std::int64_t width = tiles.out_w - place.x < 4 * run ? tiles.out_w - place.x : 4 * run;
    for (std::int64_t begin = 0; begin < tiles.out_channels; begin += kWidth) {
      std::int64_t columns = tiles.out_channels - begin < kWidth ? tiles.out_channels - begin : kWidth;
      for (std::int64_t t = 0; t < run; ++t)
        for (std::int64_t c = 0; c < columns; c += kLanes)
          sums_of_tile<Words>(w.output + (i + t) * row + begin + c, w.output_step, load(w.start + begin + c),
                              sums + t * 4 * kWidth + c, kLine, kWidth);
      for (std::int64_t r = 0; r < height; ++r) {
        std::int64_t pixel = (place.n * tiles.out_h + place.y + r) * tiles.out_w + place.x;
        finish<kVectors>(sums + r * kLine, width, w.multiplier + begin, w.bias + begin, columns,
                         moved(w.target, pixel * tiles.out_channels + begin), 0);
      }
    }
  }
}

template <class Words>
Int8WinogradRoutines routines() {
  if constexpr (kFeatures.winograd)
    return {
        .input = input<Words>, .multiply = multiply<Words>, .output = output<Words>, .panel = panel<Words>};
  else
    return {};
}

}  // namespace

Int8WinogradRoutines int8_winograd() {
  return routines<WinogradWords>();
}

}  // namespace octet::simd::OCTET_SIMD
