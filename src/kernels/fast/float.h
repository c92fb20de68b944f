#pragma once
#include <vector>

#include "graph/ops/geometry.h"
#include "kernels/epilogue.h"
#include "kernels/kernel.h"
#include "kernels/simd/simd.h"

// What the fp32 convolutions and products have in common.
namespace octet::fast {

// Bytes of the arrays that kernels of one thread work on at once; the smallest second-level cache that CPUs
// of today have is 256 KB, and weights need a part of it.
constexpr std::int64_t kBlockBytes = 128 << 10;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
inline std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return divide_up(a, b) * b;
}

// The right matrix of a product, packed as simd::FloatProduct wants it: depth x columns, element (k, column)
// is at(k, column).
template <class At>
void pack_panels(const simd::FloatRoutines& routines, std::int64_t depth, std::int64_t columns, const At& at,
                 float* packed) {
  for (std::int64_t first = 0, width; first < columns; first += width) {
    width = routines.panel_width(columns - first);
    std::int64_t count = std::min(width, columns - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t j = 0; j < count; ++j) *packed++ = at(k, first + j);
      for (std::int64_t j = count; j < width; ++j) *packed++ = 0;
    }
  }
}
inline std::int64_t packed_size(const simd::FloatRoutines& routines, std::int64_t depth,
                                std::int64_t columns) {
  return round_up(columns, routines.lanes) * depth;
}

// A constant bias with zeros up to the next whole vector; empty when there is none.
Tensor pack_bias(const simd::FloatRoutines& routines, const Tensor& bias);
inline const float* data_or_null(const Tensor& tensor) {
  return tensor.empty() ? nullptr : tensor.data<float>().data();
}

// Whether all constants of a node with the inputs x, weight, bias?, out_scale?, residual? can be packed: of
// those that may be large, weight and bias are constants and x and residual are not.
bool constants_are_weights(const PrepareArgs& args);

// Where the results of a node with the inputs x, weight, bias?, out_scale?, residual? go.
// `epilogue` must outlive it.
simd::FloatTarget find_target(const KernelArgs& args, const Epilogue& epilogue, std::int64_t stride);
// The same target, `elements` further on.
simd::FloatTarget advance(simd::FloatTarget target, std::int64_t elements);

// How a product is cut into tasks: blocks of rows times parts of columns.
struct Tasks {
  std::int64_t rows, columns;
  std::int64_t block;                       // rows of a block
  std::vector<std::int64_t> first_columns;  // of each part, and the end

  std::int64_t blocks() const { return divide_up(rows, block); }
  std::int64_t parts() const { return static_cast<std::int64_t>(first_columns.size()) - 1; }
  std::int64_t count() const { return blocks() * parts(); }
  std::int64_t first_row(std::int64_t task) const { return task % blocks() * block; }
  std::int64_t row_count(std::int64_t task) const { return std::min(block, rows - first_row(task)); }
  std::int64_t first_column(std::int64_t task) const {
    return first_columns[static_cast<std::size_t>(task / blocks())];
  }
  std::int64_t column_count(std::int64_t task) const {
    return first_columns[static_cast<std::size_t>(task / blocks()) + 1] - first_column(task);
  }
};
// `row_bytes` is what a row of the left matrix takes in the cache, `macs` what a result costs; any number of
// rows takes `shared_bytes` more.
Tasks split_product(const KernelArgs& args, std::int64_t rows, std::int64_t columns, std::int64_t row_bytes,
                    std::int64_t macs, std::int64_t shared_bytes = 0);

}  // namespace octet::fast
