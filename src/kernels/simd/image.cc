#include "kernels/simd/image.h"

#include <cstring>

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

// Where the channels are no multiple of a vector, the last vector ends with them and does some once more:
// vectors that are stored in part are slow.
namespace octet::simd::OCTET_SIMD {
namespace {

// kVectors vectors of channels of one output, from `image` on; `count` < kLanes: the first lanes of one.
template <int kVectors, bool kMax>
inline void pool_floats(const PoolRow& r, const float* image, const PoolSpan& x, float divisor, float* out,
                        std::int64_t count) {
  bool whole = count >= kLanes;
  Floats result[kVectors];
  for (Floats& v : result) v = kMax ? all(-0x1.fffffep127f) : zeros();
  for (std::int64_t iy = r.y.begin; iy < r.y.end; ++iy) {
    const float* pixel = image + (iy * r.width + x.begin) * r.pixel;
    for (std::int64_t ix = x.begin; ix < x.end; ++ix, pixel += r.pixel)
      for (int k = 0; k < kVectors; ++k) {
        Floats v = whole ? load(pixel + k * kLanes) : load_first(pixel, count);
        result[k] = kMax ? max(result[k], v) : add(result[k], v);
      }
  }
  for (int k = 0; k < kVectors; ++k) {
    Floats v = kMax ? result[k] : div(result[k], all(divisor));
    whole ? store(out + k * kLanes, v) : store_first(out, v, count);
  }
}

template <bool kMax>
void pool_floats_row(const PoolRow& r) {
  const float* image = static_cast<const float*>(r.image);
  float* out = static_cast<float*>(r.out);
  for (std::int64_t i = 0; i < r.count; ++i, out += r.out_pixel) {
    PoolSpan x = r.columns[i];
    bool empty = x.begin >= x.end || r.y.begin >= r.y.end;
    if (empty) x.end = x.begin;  // sums of nothing, over anything but 0
    float divisor = empty ? 1.0f : static_cast<float>(r.y.length * x.length);
    std::int64_t c = 0;
    for (; c + 8 * kLanes <= r.channels; c += 8 * kLanes)
      pool_floats<8, kMax>(r, image + c, x, divisor, out + c, kLanes);
    for (; c + 2 * kLanes <= r.channels; c += 2 * kLanes)
      pool_floats<2, kMax>(r, image + c, x, divisor, out + c, kLanes);
    for (; c < r.channels; c += kLanes) {
      if (r.channels >= kLanes && c + kLanes > r.channels) c = r.channels - kLanes;
      pool_floats<1, kMax>(r, image + c, x, divisor, out + c, r.channels - c);
    }
  }
}

// The largest of a window, of as many channels as `Bytes` holds.
template <class Bytes>
inline void max_bytes(const PoolRow& r, const std::int8_t* image, const PoolSpan& x, std::int8_t* out) {
  Bytes result = Bytes{} + std::int8_t{-128};
  for (std::int64_t iy = r.y.begin; iy < r.y.end; ++iy) {
    const std::int8_t* pixel = image + (iy * r.width + x.begin) * r.pixel;
    for (std::int64_t ix = x.begin; ix < x.end; ++ix, pixel += r.pixel) {
      Bytes v;
      std::memcpy(&v, pixel, sizeof v);
      result = result > v ? result : v;
    }
  }
  std::memcpy(out, &result, sizeof result);
}

template <class Element, class Start, class Step>
inline Start reduce_window(const PoolRow& r, const Element* image, const PoolSpan& x, Start state,
                           const Step& step) {
  for (std::int64_t iy = r.y.begin; iy < r.y.end; ++iy) {
    const Element* pixel = image + (iy * r.width + x.begin) * r.pixel;
    for (std::int64_t ix = x.begin; ix < x.end; ++ix, pixel += r.pixel) state = step(state, pixel);
  }
  return state;
}

void max_int8(const PoolRow& r, const PoolSpan& x, std::int8_t* out) {
  typedef std::int8_t Long __attribute__((vector_size(32)));
  typedef std::int8_t Short __attribute__((vector_size(16)));
  const std::int8_t* image = static_cast<const std::int8_t*>(r.image);
  std::int64_t c = 0;
  for (; c + 32 <= r.channels; c += 32) max_bytes<Long>(r, image + c, x, out + c);
  for (; r.channels >= 16 && c < r.channels; c += 16) {
    if (c + 16 > r.channels) c = r.channels - 16;
    max_bytes<Short>(r, image + c, x, out + c);
  }
  for (; c < r.channels; ++c)
    out[c] = reduce_window(r, image + c, x, std::int8_t{-128},
                           [](std::int8_t a, const std::int8_t* p) { return a > *p ? a : *p; });
}

template <int kVectors>
inline void average_int8(const PoolRow& r, const std::int8_t* image, const PoolSpan& x, Floats divisor,
                         std::int8_t* out, std::int64_t count) {
  bool whole = count >= kLanes;
  Ints sums[kVectors];
  for (Ints& v : sums) v = all(0);
  for (std::int64_t iy = r.y.begin; iy < r.y.end; ++iy) {
    const std::int8_t* pixel = image + (iy * r.width + x.begin) * r.pixel;
    for (std::int64_t ix = x.begin; ix < x.end; ++ix, pixel += r.pixel)
      for (int k = 0; k < kVectors; ++k)
        sums[k] = add(sums[k], whole ? load_int8(pixel + k * kLanes) : load_int8_first(pixel, count));
  }
  for (int k = 0; k < kVectors; ++k) {
    Floats v = round_even(div(to_floats(sums[k]), divisor));
    whole ? store_int8(out + k * kLanes, v) : store_int8_first(out, v, count);
  }
}

// Sums of more than 2^23 integers of 8 bits may need more than 32.
void average_huge_int8(const PoolRow& r, const PoolSpan& x, float divisor, std::int8_t* out) {
  const std::int8_t* image = static_cast<const std::int8_t*>(r.image);
  for (std::int64_t c = 0; c < r.channels; ++c) {
    auto sum = reduce_window(r, image + c, x, std::int64_t{0},
                             [](std::int64_t a, const std::int8_t* p) { return a + *p; });
    float mean = static_cast<float>(sum) / divisor;
    store_int8_first(out + c, round_even(all(mean)), 1);
  }
}

struct FloatPixels {
  using Element = float;
  static Floats at(const float* p) { return load(p); }
  static Floats first(const float* p, std::int64_t count) { return load_first(p, count); }
  static void put(float* p, Floats v) { store(p, v); }
  static void put_first(float* p, Floats v, std::int64_t count) { store_first(p, v, count); }
};

struct Int8Pixels {
  using Element = std::int8_t;
  static Floats at(const std::int8_t* p) { return to_floats(load_int8(p)); }
  static Floats first(const std::int8_t* p, std::int64_t count) {
    return to_floats(load_int8_first(p, count));
  }
  static void put(std::int8_t* p, Floats v) { store_int8(p, round_even(v)); }
  static void put_first(std::int8_t* p, Floats v, std::int64_t count) {
    store_int8_first(p, round_even(v), count);
  }
};

// As interpolate() in kernels/ref/interpolate.h. Outputs between the same two columns share the products with
// the weights of the rows.
template <class Pixels>
void bilinear_row(const ResizeRow& r) {
  using Element = typename Pixels::Element;
  const Element *above = static_cast<const Element*>(r.above), *below = static_cast<const Element*>(r.below);
  Element* out = static_cast<Element*>(r.out);
  Floats wa = all(r.above_weight), wb = all(r.below_weight);
  for (std::int64_t i = 0, end; i < r.count; i = end) {
    std::int64_t first = r.columns[i].first, second = r.columns[i].second;
    for (end = i + 1; end < r.count && r.columns[end].first == first && r.columns[end].second == second;)
      ++end;
    const Element *a1 = above + first * r.channels, *a2 = above + second * r.channels;
    const Element *b1 = below + first * r.channels, *b2 = below + second * r.channels;
    auto blend = [&](Floats va1, Floats vb1, Floats va2, Floats vb2, const auto& put) {
      va1 = mul(va1, wa), vb1 = mul(vb1, wb), va2 = mul(va2, wa), vb2 = mul(vb2, wb);
      for (std::int64_t k = i; k < end; ++k) {
        Floats w1 = all(r.columns[k].first_weight), w2 = all(r.columns[k].second_weight);
        put(out + k * r.channels, add(add(add(mul(va1, w1), mul(vb1, w1)), mul(va2, w2)), mul(vb2, w2)));
      }
    };
    if (r.channels < kLanes) {
      std::int64_t few = r.channels;
      blend(Pixels::first(a1, few), Pixels::first(b1, few), Pixels::first(a2, few), Pixels::first(b2, few),
            [&](Element* to, Floats v) { Pixels::put_first(to, v, few); });
      continue;
    }
    for (std::int64_t c = 0; c < r.channels; c += kLanes) {
      if (c + kLanes > r.channels) c = r.channels - kLanes;
      blend(Pixels::at(a1 + c), Pixels::at(b1 + c), Pixels::at(a2 + c), Pixels::at(b2 + c),
            [&](Element* to, Floats v) { Pixels::put(to + c, v); });
    }
  }
}

// Vectors are of neighbouring outputs here, not of channels, so that each lane has a maximum of its own.
void resize_arg_max_row(const ResizeArgMaxRow& r) {
  const std::int64_t plane = r.channels * r.step;
  float *above = r.scratch, *below = r.scratch + plane;
  const Floats wa = all(r.above_weight), wb = all(r.below_weight);
  for (std::int64_t i = 0; i < plane; i += kLanes) {
    store(above + i, mul(load(r.above + i), wa));
    store(below + i, mul(load(r.below + i), wb));
  }
  for (std::int64_t i = 0; i < r.count; i += kLanes) {
    const std::int64_t begin = r.begins[i / kLanes];
    const Ints first = load(r.first + i), second = load(r.second + i);
    const Floats w1 = load(r.first_weight + i), w2 = load(r.second_weight + i);
    auto value = [&](std::int64_t channel) {
      const Floats a = load(above + channel * r.step + begin), b = load(below + channel * r.step + begin);
      const Floats left = add(mul(lookup(a, first), w1), mul(lookup(b, first), w1));
      return add(add(left, mul(lookup(a, second), w2)), mul(lookup(b, second), w2));
    };
    Floats most = value(0), best = zeros();
    for (std::int64_t c = 1; c < r.channels; ++c) {
      const Floats v = value(c);
      const Mask more = greater(v, most);
      most = choose(more, v, most);
      best = choose(more, floats_of_bits(all(static_cast<std::int32_t>(c))), best);
    }
    store(r.out + i, bits_of(best));
  }
}

void pool_row(const PoolRow& row) {
  row.max ? pool_floats_row<true>(row) : pool_floats_row<false>(row);
}

void pool_row_int8(const PoolRow& r) {
  constexpr std::int64_t kMost = 1 << 23;
  std::int8_t* out = static_cast<std::int8_t*>(r.out);
  for (std::int64_t i = 0; i < r.count; ++i, out += r.out_pixel) {
    PoolSpan x = r.columns[i];
    if (r.max) {
      max_int8(r, x, out);
      continue;
    }
    bool empty = x.begin >= x.end || r.y.begin >= r.y.end;
    if (empty) x.end = x.begin;
    float divisor = empty ? 1.0f : static_cast<float>(r.y.length * x.length);
    if ((r.y.end - r.y.begin) * (x.end - x.begin) > kMost) {
      average_huge_int8(r, x, divisor, out);
      continue;
    }
    const std::int8_t* image = static_cast<const std::int8_t*>(r.image);
    Floats divisors = all(divisor);
    std::int64_t c = 0;
    for (; c + 4 * kLanes <= r.channels; c += 4 * kLanes)
      average_int8<4>(r, image + c, x, divisors, out + c, kLanes);
    for (; c < r.channels; c += kLanes) average_int8<1>(r, image + c, x, divisors, out + c, r.channels - c);
  }
}

void resize_row(const ResizeRow& row) {
  bilinear_row<FloatPixels>(row);
}

void resize_row_int8(const ResizeRow& row) {
  bilinear_row<Int8Pixels>(row);
}

}  // namespace

constinit const ImageRoutines kImage = {
    .pool_row = pool_row,
    .pool_row_int8 = pool_row_int8,
    .resize_row = resize_row,
    .resize_row_int8 = resize_row_int8,
    .resize_arg_max_row = resize_arg_max_row,
};

}  // namespace octet::simd::OCTET_SIMD
