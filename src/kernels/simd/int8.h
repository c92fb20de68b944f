#pragma once
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/simd/winograd.h"

namespace octet::simd {

// How the products of a panel of output channels are made. Weights are constants, so whether a cheaper way is
// exact is decided when they are packed (fast/int8_pack.h). A sum's operands come in units of 4 int8 of the
// left side, which every output channel of a vector reads at once.
enum class Int8Kind : std::uint8_t {
  kPairs2,  // products of pairs in 16 bits, those of two units added there, then widened
  kPairs,   // products of pairs in 16 bits, then widened
  // As kPairs, exact for all operands: where both weights of a pair have the same sign one is negated and its
  // left side turned round, x becomes 127 - x and the others x + 128, so the products never add up beyond 16
  // bits. Either is the byte x with some bits inverted: which, lies beside the weights.
  kOpposed,
  kDot,  // the CPU's own 8-bit dot product into 32 bits. Exact for all operands
};

// What the kinds can do on an instruction set.
struct Int8Features {
  int lanes;     // output channels in a vector
  bool dot;      // kDot is there, and the best for everything
  bool pairs2;   // kPairs2 is there
  bool opposed;  // kOpposed is there; without, kPairs is exact for all but pairs of two weights of -128
  int bytes;     // channels in a block of a depthwise convolution
  bool unsigned_pairs;    // kPairs wants a left side of 0..255: `shift` is added to it first
  bool strips = false;    // depthwise_strip is there
  bool quads = false;     // depthwise_quads is there
  bool winograd = false;  // winograd is there, and better than `multiply`
};

// The left side: a row of the product is `segments` runs of `units` times 4 bytes each.
struct Int8Rows {
  const std::int8_t* const* pointers;  // of run s of row r: pointers[s * stride + r] + offset
  std::int64_t stride;
  std::int64_t offset;
  std::int64_t rows;
  std::int64_t segments, units;
};

// The right side: `vectors` vectors of output channels, of which the first `columns` channels exist.
struct Int8Panel {
  Int8Kind kind;
  int vectors;
  std::int64_t columns;
  std::int8_t shift;         // added to each byte of the left side, as uint8
  const std::int32_t* init;  // one per channel: what a sum starts from; takes the shift back
  const float* multiplier;   // one per channel
  const float* bias;         // one per channel
  // [segment][unit][vector][channel][4 bytes]; `unit` goes on with those of `again`. With kOpposed a vector
  // of inversions lies before each one of weights.
  const std::int8_t* weights;
  // Units that are multiplied a second time, as what their weights are in all would overflow 16 bits: of each
  // segment their number and which ones.
  const std::int32_t* again;
};

// Where the results go: element (r, c) to base + r * stride + c. Pointers may be null: no such thing.
struct Int8Target {
  const Epilogue* epilogue = nullptr;
  const float* residual = nullptr;  // this or
  const std::int8_t* residual_integers = nullptr;
  float residual_step = 0;  // what one of them is worth
  float* floats = nullptr;
  std::int8_t* integers = nullptr;
  std::int64_t stride = 0;
};

constexpr int kMaxVectors = 4;  // of a panel

// A block of `bytes` (Int8Features) channels of a depthwise convolution, of which the first `columns` exist.
// Taps go in pairs, the last one with itself when their number is odd. Products of pairs are added in 16 bits
// as far as no sum can overflow: a round is two groups of pairs, each of which is added so. All groups have
// the same number of pairs, or the first ones have one more.
struct Int8Channels {
  bool wide;  // all in 32 bits, exact for all operands
  std::int64_t columns;
  std::int8_t shift;  // added to each byte of the left side, as uint8
  bool has_init;      // not all of `init` is 0
  std::int64_t rounds;
  const std::uint8_t* groups;  // [round][2]: the number of pairs; the second may be 0
  const std::int32_t* init;    // [sum_place]
  const float* multiplier;     // [sum_place]
  const float* bias;           // [sum_place]
  const float* plain;          // the same multipliers in the order of channels, then the biases
  const std::int8_t* weights;  // [pair][weight_place][2], or wide: int16 [pair][sum_place][2]
};
constexpr std::int64_t kMaxDepthwiseTaps = 255;

// A block of channels of an image with its padding: all channels of a pixel, then the next pixel.
struct Int8Plane {
  const std::int8_t* data;  // tap 0 of the first output
  std::int64_t row, step;   // bytes from the taps of an output to those of the next one below and beside it
  const std::int64_t* offsets;  // of each tap, in bytes; the last one twice when their number is odd
  std::int64_t taps;
  std::int64_t rows, columns;  // of outputs
};

// A row of outputs of a depthwise convolution with 3 x 3 taps, side by side, that are read where they are.
struct Int8Strip {
  // The first pixel of each of the three rows, and bytes from one to the next. A row of padding is one pixel
  // of zeros, and 0.
  const std::int8_t* rows[3];
  std::int64_t steps[3];
  std::int64_t width, before;    // pixels in a row, and of padding in front of it
  std::int64_t stride, columns;  // 1 or 2; of outputs
};

// Rows of outputs of a depthwise convolution with 5 x 5 taps. Four rows of the image lie together as a row of
// quads: of each pixel a vector of `lanes` units, the bytes of four pixels above each other. Five rows reach
// into two such rows, wherever the first of them is.
struct Int8Quads {
  const std::int8_t* data;     // the quads of the first taps
  std::int64_t next;           // bytes from one row of quads to the next one
  std::int64_t stride;         // 1 or 2
  std::int64_t rows, columns;  // of outputs
  std::int64_t row;            // bytes from the quads of a row of outputs to those of the next one
  std::int64_t target_row;     // and from its outputs, in rows of the target
};

// A block of tiles of a 3x3 convolution by Winograd's F(4x4, 3x3) in 16 bits.
struct Int8Winograd {
  WinogradTiles tiles;
  const std::int8_t* x;
  const std::int8_t* padding;  // stands for a pixel outside of the image
  // The tiles transformed: 36 matrices tiles x channels, the rows padded to an even number, `input_step`
  // elements from matrix to matrix. And what they were multiplied to, tiles x output channels, the rows
  // padded to whole vectors, likewise.
  std::int16_t* input;
  std::int64_t input_step;
  std::int32_t* output;
  std::int64_t output_step;
  // Of all output channels, padded to whole vectors: what is added to sums, then as in Int8Panel.
  const std::int32_t* start;
  const float* multiplier;
  const float* bias;
  Int8Target target;  // of the whole image
};

// Its three steps; it needs at least 2 * lanes channels. All are null, or none.
struct Int8WinogradRoutines {
  void (*input)(const Int8Winograd& winograd);
  // One of the 36 products. Its weights are [panel][pair of channels][vector][output channel][2].
  void (*multiply)(const Int8Winograd& winograd, std::int64_t position, const std::int16_t* weights);
  void (*output)(const Int8Winograd& winograd);
  // The vectors of the first panel, when there are `vectors` in all.
  std::int64_t (*panel)(std::int64_t vectors);
};

// Convolutions and products of int8.
struct Int8Routines {
  Int8Features features;
  void (*multiply)(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target);
  // Output (y, x) is row y * plane.columns + x of the target.
  void (*depthwise)(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target);
  // Output x is row x of the target. The weights of the channels are [column of taps][sum_place][4]: the
  // three from above, and 0. Null: not on this instruction set.
  void (*depthwise_strip)(const Int8Strip& strip, const Int8Channels& channels, const Int8Target& target);
  // Makes quads of the pixels of four rows, steps[r] bytes apart; `shift` is added to each byte.
  void (*quads)(const std::int8_t* const (&rows)[4], const std::int64_t (&steps)[4], std::int64_t pixels,
                std::int8_t shift, std::int8_t* to);
  // The panel is one vector, and its weights are [column of taps][2 rows of quads][channel][4]. A left side
  // has its shift already. Both are null, or none.
  void (*depthwise_quads)(const Int8Quads& quads, const Int8Panel& panel, const Int8Target& target);
  Int8WinogradRoutines winograd;
  // Where a channel of a block lies among its sums and among the weights of a pair.
  std::int64_t (*sum_place)(std::int64_t channel);
  std::int64_t (*weight_place)(std::int64_t channel);
  // Splits `channels` channels of pixels that are `stride` bytes apart into blocks, `plane` bytes from one
  // block of a pixel to its next; what the channels leave of the last one becomes 0.
  void (*copy_blocks)(const std::int8_t* from, std::int64_t stride, std::int64_t channels,
                      std::int64_t pixels, std::int8_t* to, std::int64_t plane);
  // pointers[i] = first + i * step
  void (*point)(const std::int8_t* first, std::int64_t step, std::int64_t count,
                const std::int8_t** pointers);
};

}  // namespace octet::simd
