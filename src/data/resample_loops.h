#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/image.h"

// The inner loops of Pillow's convolutions (resample_pillow.cc). Instruction sets that have their own get a
// file each; all of them give the same pixels.
namespace octet {

constexpr int kResampleBits = 22;  // fraction bits of a weight
constexpr std::int32_t kResampleHalf = 1 << (kResampleBits - 1);

// For each of some outputs along one axis: which inputs it sums, and with what weights.
struct Taps {
  struct Span {
    int first;
    int count;
    std::size_t weights;  // where its weights begin
  };
  std::vector<Span> spans;
  std::vector<std::int32_t> weights;
  std::vector<std::int32_t> packed = {};  // the same as the loops want them

  std::span<const std::int32_t> of(const Span& span) const {
    return {weights.data() + span.weights, static_cast<std::size_t>(span.count)};
  }
};

// One pass makes a line of each row of pixels, the other an output of some of the lines.
struct ResampleLoops {
  // Up to kOverrun bytes behind a row, and kOverwrite behind a line or an output, may be read or written too.
  static constexpr std::size_t kOverrun = 64, kOverwrite = 32;

  // Fill in `packed`. False: these loops can't do it.
  bool (*pack_columns)(Taps& columns);
  bool (*pack_rows)(Taps& rows);
  void (*row)(const std::uint8_t* row, const Taps& columns, std::uint8_t* to);
  // Output `which`; `lines` is the first line that it sums, and they are `stride` bytes long and apart.
  void (*lines)(const std::uint8_t* lines, std::size_t stride, const Taps& rows, std::size_t which,
                std::uint8_t* to);
};

// Those that this CPU can run, the fastest ones first. The last ones can do everything.
std::span<const ResampleLoops* const> resample_loops();

// Null where the compiler makes no such code.
const ResampleLoops* resample_loops_avx2();
const ResampleLoops* resample_loops_avx512();  // with VBMI and VNNI

}  // namespace octet
