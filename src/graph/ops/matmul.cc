#include "graph/ops/matmul.h"

#include <algorithm>

#include "graph/ops/epilogue.h"
#include "graph/ops/ops.h"

namespace octet::ops {
namespace {

void infer_matmul(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  require_float(*inputs[1], "y");
  MatmulShape shape = matmul_shape(inputs[0]->shape, inputs[1]->shape, attr<bool>(node, "transpose_x"),
                                   attr<bool>(node, "transpose_y"));
  infer_linear_epilogue(node, inputs, 2, shape.out, shape.columns, outputs);
}

void infer_matmul_flat(const Node& node, Inputs inputs, Outputs outputs) {
  std::size_t split[2] = {};
  for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const char* name = i == 0 ? "x_num_col_dims" : "y_num_col_dims";
    require_float(*inputs[i], i == 0 ? "x" : "y");
    std::int64_t dims = attr<std::int64_t>(node, name);
    if (dims < 1 || dims >= static_cast<std::int64_t>(inputs[i]->shape.size()))
      fail("attribute {} is {}, which does not split {} into a matrix", name, dims,
           to_string(inputs[i]->shape));
    split[i] = static_cast<std::size_t>(dims);
  }
  const Shape &x = inputs[0]->shape, &y = inputs[1]->shape;
  merge_dims(product(x, split[0], x.size()), product(y, 0, split[1]), "the columns of x and the rows of y");
  Shape out(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(split[0]));
  out.insert(out.end(), y.begin() + static_cast<std::ptrdiff_t>(split[1]), y.end());
  infer_linear_epilogue(node, inputs, 2, out, product(y, split[1], y.size()), outputs);
}

}  // namespace

MatmulShape matmul_shape(const Shape& x, const Shape& y, bool transpose_x, bool transpose_y) {
  if (x.empty() || y.empty())
    fail("x is {} and y is {}: no product with a scalar", to_string(x), to_string(y));
  Shape left = x, right = y;
  if (x.size() == 1) left.insert(left.begin(), 1);
  if (y.size() == 1) right.push_back(1);
  if (transpose_x && x.size() > 1) std::swap(left[left.size() - 1], left[left.size() - 2]);
  if (transpose_y && y.size() > 1) std::swap(right[right.size() - 1], right[right.size() - 2]);

  MatmulShape result;
  result.rows = left[left.size() - 2];
  result.columns = right.back();
  try {
    result.inner = merge_dims(left.back(), right[right.size() - 2], "the columns of x and the rows of y");
    Broadcast batch = broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
    result.x_batch = std::move(batch.x);
    result.y_batch = std::move(batch.y);
    result.batch = std::move(batch.out);
  } catch (const Error& error) {
    fail("{}{} times {}{}: {}", to_string(x), transpose_x ? " transposed" : "", to_string(y),
         transpose_y ? " transposed" : "", error.what());
  }
  result.out = result.batch;
  if (x.size() > 1) result.out.push_back(result.rows);
  if (y.size() > 1) result.out.push_back(result.columns);
  return result;
}

std::vector<OpSpec> matmul() {
  std::vector<std::string_view> inputs = {"x", "y", "bias?", "out_scale?", "residual?"};
  return {
      {"matmul",
       inputs,
       {"z", "float?"},
       with_epilogue({{"transpose_x", false}, {"transpose_y", false}, {"alpha", 1.0}}),
       infer_matmul},
      {"matmul_flat",
       inputs,
       {"z", "float?"},
       with_epilogue({{"x_num_col_dims", std::int64_t{1}}, {"y_num_col_dims", std::int64_t{1}}}),
       infer_matmul_flat},
  };
}

}  // namespace octet::ops
