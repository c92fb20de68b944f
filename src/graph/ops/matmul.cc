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

// Where the columns are one dimension.
int flat_axis(const Node& node, const Shape& weight) {
  auto last = static_cast<std::int64_t>(weight.size()) - 1;
  return last >= 1 && attr<std::int64_t>(node, "y_num_col_dims") == last ? static_cast<int>(last) : -1;
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

std::int64_t matmul_multiply_adds(const Node&, const Shape& weight, const Shape& output) {
  std::int64_t columns = output.empty() ? 1 : output.back();
  return columns > 0 && weight.size() == 2 ? element_count(output) / columns * element_count(weight) : 0;
}

int matmul_axis(const Node& node, const Shape& weight) {
  int rank = static_cast<int>(weight.size());
  return rank < 2 ? -1 : rank - (attr<bool>(node, "transpose_y") ? 2 : 1);
}

std::vector<OpSpec> matmul() {
  OpSpec matmul{.name = "matmul",
                .inputs = {"x", "y", "bias?", "out_scale?", "residual?"},
                .outputs = {"z", "float?"},
                .attrs = {flag("transpose_x", false), flag("transpose_y", false), number_attr("alpha", 1)},
                .infer = infer_matmul,
                .kind = OpKind::kMatmul,
                .weights = "y",
                .channel_axis = matmul_axis,
                .multiply_adds = matmul_multiply_adds,
                .learned = {"x", "y", "bias"},
                .integer_op = "qmatmul",
                .precision = MixedPrecision::kLow};
  OpSpec flat = matmul;
  flat.name = "matmul_flat";
  flat.attrs = {{"x_num_col_dims", std::int64_t{1}, between(1, kMaxRank)},
                {"y_num_col_dims", std::int64_t{1}, between(1, kMaxRank)}};
  flat.infer = infer_matmul_flat;
  flat.channel_axis = flat_axis;
  return {with_epilogue(std::move(matmul)), with_epilogue(std::move(flat))};
}

}  // namespace octet::ops
