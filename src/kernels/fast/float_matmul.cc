#include <algorithm>

#include "graph/ops/matmul.h"
#include "kernels/fast/fast.h"
#include "kernels/fast/float.h"

// matmul and matmul_flat. A constant right side is packed once; otherwise each run packs it.
namespace octet::fast {
namespace {

// The products of a node: [rows, inner] times [inner, columns], once for each of `batch`.
struct Products {
  std::int64_t rows, inner, columns;
  bool transpose_x = false, transpose_y = false;
  float alpha = 1;
  std::vector<std::int64_t> x, y;  // which matrix of x and of y each product takes
  std::int64_t x_count = 1, y_count = 1;
};

std::int64_t product_of(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= shape[i];
  return count;
}

Products flat_products(const Node& node, const Shape& x, const Shape& y) {
  auto split = static_cast<std::size_t>(attr<std::int64_t>(node, "x_num_col_dims"));
  auto inner_dims = static_cast<std::size_t>(attr<std::int64_t>(node, "y_num_col_dims"));
  return {.rows = product_of(x, 0, split),
          .inner = product_of(y, 0, inner_dims),
          .columns = product_of(y, inner_dims, y.size()),
          .x = {0},
          .y = {0}};
}

// The number of the matrix that product i of `batch` takes from an operand with these batch dimensions.
std::int64_t broadcast_index(std::int64_t i, const Shape& batch, const Shape& dims) {
  std::int64_t index = 0, step = 1;
  for (std::size_t d = batch.size(); d-- > 0; i /= batch[d]) {
    if (dims[d] != 1) index += i % batch[d] * step;
    step *= dims[d];
  }
  return index;
}

Products batch_products(const Node& node, const Shape& x, const Shape& y) {
  Products p{};
  p.transpose_x = attr<bool>(node, "transpose_x") && x.size() > 1;
  p.transpose_y = attr<bool>(node, "transpose_y") && y.size() > 1;
  p.alpha = attr<float>(node, "alpha");
  ops::MatmulShape shape = ops::matmul_shape(x, y, p.transpose_x, p.transpose_y);
  p.rows = shape.rows;
  p.inner = shape.inner;
  p.columns = shape.columns;
  p.x_count = product_of(shape.x_batch, 0, shape.x_batch.size());
  p.y_count = product_of(shape.y_batch, 0, shape.y_batch.size());
  std::int64_t batch = product_of(shape.batch, 0, shape.batch.size());
  if (p.y_count == 1 && p.x_count == batch && !p.transpose_x) {  // one product with more rows
    p.rows *= batch;
    p.x_count = 1;
    batch = 1;
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    p.x.push_back(p.x_count == 1 ? 0 : broadcast_index(i, shape.batch, shape.x_batch));
    p.y.push_back(p.y_count == 1 ? 0 : broadcast_index(i, shape.batch, shape.y_batch));
  }
  return p;
}

Products products_of(const Node& node, const Shape& x, const Shape& y) {
  return node.op == "matmul_flat" ? flat_products(node, x, y) : batch_products(node, x, y);
}

struct PreparedMatmul : Prepared {
  Tensor weights;  // empty when each run packs them
  Tensor bias;
};

void pack_right(const simd::FloatRoutines& routines, const float* y, std::int64_t inner, std::int64_t columns,
                bool transposed, float* packed) {
  if (transposed)
    pack_panels(
        routines, inner, columns, [&](std::int64_t k, std::int64_t j) { return y[j * inner + k]; }, packed);
  else
    pack_panels(
        routines, inner, columns, [&](std::int64_t k, std::int64_t j) { return y[k * columns + j]; }, packed);
}

std::shared_ptr<const Prepared> prepare_bias(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedMatmul>();
  prepared->bias = pack_bias(args.simd->f32, args.constant("bias"));
  return prepared;
}

std::shared_ptr<const Prepared> prepare_weights(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedMatmul>();
  prepared->bias = pack_bias(args.simd->f32, args.constant("bias"));
  Tensor y = args.constant("y").aligned();
  std::int64_t inner = 0, columns = 0;
  bool transposed = false;
  if (args.node.op == "matmul_flat") {
    auto inner_dims = static_cast<std::size_t>(attr<std::int64_t>(args.node, "y_num_col_dims"));
    inner = product_of(y.shape(), 0, inner_dims);
    columns = product_of(y.shape(), inner_dims, y.shape().size());
  } else {
    transposed = attr<bool>(args.node, "transpose_y") && y.rank() > 1;
    columns = y.rank() == 1 ? 1 : y.dim(transposed ? -2 : -1);
    inner = y.rank() == 1 ? y.dim(0) : y.dim(transposed ? -1 : -2);
  }
  std::int64_t matrix = inner * columns, size = packed_size(args.simd->f32, inner, columns);
  std::int64_t count = matrix == 0 ? 0 : y.size() / matrix;
  prepared->weights = Tensor(DType::kFloat32, {count * size});
  for (std::int64_t i = 0; i < count; ++i)
    pack_right(args.simd->f32, y.data<float>().data() + i * matrix, inner, columns, transposed,
               prepared->weights.mutable_data<float>().data() + i * size);
  return prepared;
}

// What each run packs: the right sides, and left sides that lie the wrong way.
struct Scratch {
  std::int64_t right_size, rights, left_size;  // in floats

  Scratch(const KernelArgs& args, const Products& p) {
    right_size = packed_size(args.simd->f32, p.inner, p.columns);
    rights = static_cast<const PreparedMatmul&>(*args.prepared).weights.empty() ? p.y_count : 0;
    left_size = p.transpose_x ? p.x_count * p.rows * p.inner : 0;
  }
};

std::size_t matmul_scratch(const KernelArgs& args) {
  Products p = products_of(args.node, args.inputs[0]->shape(), args.input("y")->shape());
  Scratch scratch(args, p);
  return static_cast<std::size_t>(scratch.rights * scratch.right_size + scratch.left_size) * sizeof(float);
}

void run_matmul(const KernelArgs& args) {
  const auto& prepared = static_cast<const PreparedMatmul&>(*args.prepared);
  const Tensor &x = *args.inputs[0], &y = *args.input("y");
  Products p = products_of(args.node, x.shape(), y.shape());
  Scratch scratch(args, p);
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
  simd::FloatTarget target = find_target(args, epilogue, p.columns);

  auto* memory = reinterpret_cast<float*>(args.scratch.data());
  const float* weights = data_or_null(prepared.weights);
  if (scratch.rights > 0) {
    const float* from = y.data<float>().data();
    args.pool.parallel_for(scratch.rights, [&](std::int64_t i) {
      pack_right(args.simd->f32, from + i * p.inner * p.columns, p.inner, p.columns, p.transpose_y,
                 memory + i * scratch.right_size);
    });
    weights = memory;
    memory += scratch.rights * scratch.right_size;
  }
  const float* left = x.data<float>().data();
  if (p.transpose_x) {
    args.pool.parallel_for(p.x_count, [&](std::int64_t i) {
      const float* from = left + i * p.rows * p.inner;
      float* to = memory + i * p.rows * p.inner;
      for (std::int64_t row = 0; row < p.rows; ++row)
        for (std::int64_t k = 0; k < p.inner; ++k) *to++ = from[k * p.rows + row];
    });
    left = memory;
  }

  Tasks tasks = split_product(args, p.rows, p.columns, p.inner * 4, p.inner);
  args.pool.parallel_for(tasks.count() * static_cast<std::int64_t>(p.x.size()), [&](std::int64_t index) {
    std::int64_t task = index % tasks.count();
    auto product = static_cast<std::size_t>(index / tasks.count());
    std::int64_t row = tasks.first_row(task), count = tasks.row_count(task);
    std::int64_t column = tasks.first_column(task);
    std::vector<const float*> pieces(static_cast<std::size_t>(count));
    const float* first = left + (p.x[product] * p.rows + row) * p.inner;
    for (const float*& piece : pieces) {
      piece = first;
      first += p.inner;
    }
    const float* bias = data_or_null(prepared.bias);
    std::int64_t place = (static_cast<std::int64_t>(product) * p.rows + row) * p.columns + column;
    args.simd->f32.multiply({.pieces = pieces.data(),
                             .piece_step = count,
                             .taps = 1,
                             .depth = p.inner,
                             .rows = count,
                             .weights = weights + p.y[product] * scratch.right_size + column * p.inner,
                             .bias = bias ? bias + column : nullptr,
                             .columns = tasks.column_count(task),
                             .alpha = p.alpha,
                             .target = advance(target, place)});
  });
}

bool bias_is_constant(const PrepareArgs& args) {
  return !args.value("bias") || args.value("bias")->is_constant();
}

}  // namespace

std::vector<Implementation> float_matmul() {
  std::vector<Implementation> rows;
  for (std::string_view op : {"matmul", "matmul_flat"}) {
    rows.push_back({.op = op,
                    .name = "gemm",
                    .run = run_matmul,
                    .fits = constants_are_weights,
                    .prepare = prepare_weights,
                    .scratch = matmul_scratch,
                    .drops_constants = true});
    rows.push_back({.op = op,
                    .name = "gemm",
                    .run = run_matmul,
                    .fits = bias_is_constant,
                    .prepare = prepare_bias,
                    .scratch = matmul_scratch});
  }
  return rows;
}

}  // namespace octet::fast
