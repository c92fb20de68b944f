#include "graph/ops/matmul.h"

#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {
namespace {

// A matrix somewhere in memory.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t rows, columns;
  bool transposed = false;  // column after column

  T operator()(std::int64_t row, std::int64_t column) const {
    return transposed ? data[column * rows + row] : data[row * columns + column];
  }
};

// finish(the sum over k, in order, of a(row, k) * b(k, column), row, column) for each element of a*b.
template <class Sum, class A, class B, class Finish>
void multiply(const A& a, const B& b, ThreadPool& pool, const Finish& finish) {
  pool.parallel_for(a.rows, [&](std::int64_t row) {
    for (std::int64_t column = 0; column < b.columns; ++column) {
      Sum sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum = multiply_add(a(row, k), b(k, column), sum);
      finish(sum, row, column);
    }
  });
}

// A matrix of integers, each less the one that stands for 0, in all or in its column.
template <class T>
struct Integers {
  Matrix<T> matrix;
  const T* zeros;  // null: 0
  bool one_zero = true;
  std::int64_t rows = matrix.rows, columns = matrix.columns;

  std::int32_t operator()(std::int64_t row, std::int64_t column) const {
    return matrix(row, column) - (zeros ? zeros[one_zero ? 0 : column] : T{0});
  }
};

template <class T>
const T* data_of(const Tensor* tensor) {
  return tensor ? tensor->data<T>().data() : nullptr;
}

}  // namespace

void matmul(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &y = *args.input("y");
  bool transpose_x = attr<bool>(args.node, "transpose_x") && x.rank() > 1;
  bool transpose_y = attr<bool>(args.node, "transpose_y") && y.rank() > 1;
  float alpha = attr<float>(args.node, "alpha");
  Store store(args);
  AddBias add_bias(args.input("bias"));
  ops::MatmulShape shape = ops::matmul_shape(x.shape(), y.shape(), transpose_x, transpose_y);
  Shape x_strides = broadcast_strides(shape.x_batch), y_strides = broadcast_strides(shape.y_batch);
  std::size_t rank = shape.batch.size();
  for (std::int64_t i = 0; i < count_of(shape.batch, 0, rank); ++i) {
    std::int64_t x_index = offset_of(i, shape.batch, x_strides, rank);
    std::int64_t y_index = offset_of(i, shape.batch, y_strides, rank);
    const float* left = x.data<float>().data() + x_index * shape.rows * shape.inner;
    const float* right = y.data<float>().data() + y_index * shape.inner * shape.columns;
    multiply<float>(Matrix<float>{left, shape.rows, shape.inner, transpose_x},
                    Matrix<float>{right, shape.inner, shape.columns, transpose_y}, args.pool,
                    [&](float sum, std::int64_t row, std::int64_t column) {
                      store(add_bias(sum * alpha, column), (i * shape.rows + row) * shape.columns + column);
                    });
  }
}

void matmul_flat(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &y = *args.input("y");
  auto split = static_cast<std::size_t>(attr<std::int64_t>(args.node, "x_num_col_dims"));
  auto inner_dims = static_cast<std::size_t>(attr<std::int64_t>(args.node, "y_num_col_dims"));
  std::int64_t rows = count_of(x.shape(), 0, split);
  std::int64_t inner = count_of(y.shape(), 0, inner_dims);
  std::int64_t columns = count_of(y.shape(), inner_dims, y.shape().size());
  Store store(args);
  AddBias add_bias(args.input("bias"));
  multiply<float>(Matrix<float>{x.data<float>().data(), rows, inner},
                  Matrix<float>{y.data<float>().data(), inner, columns}, args.pool,
                  [&](float sum, std::int64_t row, std::int64_t column) {
                    store(add_bias(sum, column), row * columns + column);
                  });
}

void qmatmul(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t inner = weight.dim(transposed ? 1 : 0), columns = weight.dim(transposed ? 0 : 1);
  std::int64_t rows = columns == 0 ? 0 : args.outputs[0].size() / columns;
  Store store(args);
  Rescale rescale(*args.input("multiplier"), args.input("bias"));
  const Integers<std::int8_t> left{{x.data<std::int8_t>().data(), rows, inner},
                                   data_of<std::int8_t>(args.input("x_zero"))};
  with_weights(args, [&]<class Weight>() {
    const Matrix<Weight> right{weight.data<Weight>().data(), inner, columns, transposed};
    multiply<std::int32_t>(left, right, args.pool,
                           [&](std::int32_t sum, std::int64_t row, std::int64_t column) {
                             store(rescale(sum, column), row * columns + column);
                           });
  });
}

void matmul_integer(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight"), *zero = args.input("weight_zero");
  ops::MatmulShape shape = ops::matmul_shape(x.shape(), weight.shape(), false, false);
  Shape x_strides = broadcast_strides(shape.x_batch), y_strides = broadcast_strides(shape.y_batch);
  std::size_t rank = shape.batch.size();
  auto y = args.outputs[0].mutable_data<std::int32_t>();
  with_bytes(args, [&]<class T, class Weight>() {
    for (std::int64_t i = 0; i < count_of(shape.batch, 0, rank); ++i) {
      const T* left =
          x.data<T>().data() + offset_of(i, shape.batch, x_strides, rank) * shape.rows * shape.inner;
      const Weight* right = weight.data<Weight>().data() +
                            offset_of(i, shape.batch, y_strides, rank) * shape.inner * shape.columns;
      multiply<std::int32_t>(
          Integers<T>{{left, shape.rows, shape.inner}, data_of<T>(args.input("x_zero"))},
          Integers<Weight>{
              {right, shape.inner, shape.columns}, data_of<Weight>(zero), !zero || zero->size() == 1},
          args.pool, [&](std::int32_t sum, std::int64_t row, std::int64_t column) {
            y[static_cast<std::size_t>((i * shape.rows + row) * shape.columns + column)] = sum;
          });
    }
  });
}

}  // namespace octet::ref
