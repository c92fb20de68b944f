#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// A product of matrices, batch by batch: [.., rows, inner] times [.., inner, columns]. Vectors count as numpy
// counts them: one on the left is a row, one on the right a column, and the result lacks that dimension.
struct MatmulShape {
  std::int64_t rows = kUnknown, inner = kUnknown, columns = kUnknown;
  Shape x_batch, y_batch, batch;  // of equal rank; batch is the broadcast one
  Shape out;
};
MatmulShape matmul_shape(const Shape& x, const Shape& y, bool transpose_x, bool transpose_y);

// Of the rows of matmul and qmatmul.
int matmul_axis(const Node& node, const Shape& weight);
std::int64_t matmul_multiply_adds(const Node& node, const Shape& weight, const Shape& output);

}  // namespace octet::ops
