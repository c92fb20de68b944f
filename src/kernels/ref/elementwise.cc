#include <cmath>
#include <cstring>
#include <type_traits>

#include "graph/ops/infer.h"
#include "kernels/ref/blocks.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

// The output as rows of `dims.back()` elements; an operand's stride is 0 where it is broadcast. Neighbouring
// dims along which both operands simply go on are joined, so a row is as long as can be.
struct BinaryLoop {
  Shape dims, x_strides, y_strides;
};

BinaryLoop plan(const ops::Broadcast& shapes) {
  Shape x_strides = broadcast_strides(shapes.x), y_strides = broadcast_strides(shapes.y);
  BinaryLoop loop;
  for (std::size_t i = 0; i < shapes.out.size(); ++i) {
    std::int64_t size = shapes.out[i];
    if (size == 1) continue;
    bool joins = !loop.dims.empty() && loop.x_strides.back() == x_strides[i] * size &&
                 loop.y_strides.back() == y_strides[i] * size;
    if (joins) {
      loop.dims.back() *= size;
      loop.x_strides.back() = x_strides[i];
      loop.y_strides.back() = y_strides[i];
    } else {
      loop.dims.push_back(size);
      loop.x_strides.push_back(x_strides[i]);
      loop.y_strides.push_back(y_strides[i]);
    }
  }
  if (loop.dims.empty()) return {{1}, {0}, {0}};
  return loop;
}

template <class T, class Function>
void binary_row(const T* x, bool x_moves, const T* y, bool y_moves, T* z, std::int64_t size,
                const Function& function) {
  if (x_moves && y_moves) {
    for (std::int64_t i = 0; i < size; ++i) z[i] = function(x[i], y[i]);
  } else if (x_moves) {
    for (std::int64_t i = 0; i < size; ++i) z[i] = function(x[i], *y);
  } else {
    for (std::int64_t i = 0; i < size; ++i) z[i] = function(*x, y_moves ? y[i] : *y);
  }
}

// Calls store(values, count, index of the first in z) for pieces of the result.
template <class T, class Function, class StorePiece>
void binary_typed(const KernelArgs& args, const Function& function, const StorePiece& store) {
  const Tensor &x = *args.inputs[0], &y = *args.inputs[1];
  if (args.outputs[0].size() == 0) return;
  BinaryLoop loop = plan(ops::broadcast(x.shape(), y.shape(), attr<std::int64_t>(args.node, "axis")));
  std::size_t last = loop.dims.size() - 1;
  std::int64_t row = loop.dims[last], x_step = loop.x_strides[last], y_step = loop.y_strides[last];
  const T *x_data = x.data<T>().data(), *y_data = y.data<T>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> values(static_cast<std::size_t>(end - begin));
    std::int64_t first = begin;
    while (begin < end) {  // a block may begin and end inside a row
      std::int64_t index = begin / row, column = begin % row;
      std::int64_t size = std::min(row - column, end - begin);
      binary_row(x_data + offset_of(index, loop.dims, loop.x_strides, last) + column * x_step, x_step != 0,
                 y_data + offset_of(index, loop.dims, loop.y_strides, last) + column * y_step, y_step != 0,
                 values.data() + begin - first, size, function);
      begin += size;
    }
    store(values.data(), end - first, first);
  });
}

template <class T, class Function>
void binary_plain(const KernelArgs& args, const Function& function) {
  T* z = args.outputs[0].mutable_data<T>().data();
  binary_typed<T>(args, function, [&](const T* values, std::int64_t count, std::int64_t index) {
    std::copy_n(values, count, z + index);
  });
}

// add and mul have an epilogue, on floats.
template <class Function>
void binary_with_epilogue(const KernelArgs& args, const Function& function) {
  if (args.inputs[0]->dtype() == DType::kInt32) return binary_plain<std::int32_t>(args, function);
  if (args.inputs[0]->dtype() == DType::kInt64) return binary_plain<std::int64_t>(args, function);
  binary_typed<float>(args, function, Store(args, nullptr, args.input(2)));
}

template <class Function>
void binary(const KernelArgs& args, const Function& function) {
  switch (args.outputs[0].dtype()) {
    case DType::kFloat32:
      return binary_plain<float>(args, function);
    case DType::kInt32:
      return binary_plain<std::int32_t>(args, function);
    case DType::kInt64:
      return binary_plain<std::int64_t>(args, function);
    default:
      check(false, "the op table lets only these dtypes through");
  }
}

// Integers wrap around; in C++ only unsigned ones do.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}

template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
  else
    return a * b;
}

template <class T>
T difference_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
  else
    return a - b;
}

template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) fail("div: an integer is divided by 0");
    return b == -1 ? difference_of(T(0), a) : a / b;
  } else {
    return a / b;
  }
}

template <class T>
T power_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b < 0) {  // the fraction 1/a^-b, rounded to an integer
      if (a == 0) fail("pow: 0 is raised to a negative power");
      return a == 1 ? T(1) : a == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
    }
    T result = 1;
    for (; b > 0; b /= 2) {
      if (b % 2 == 1) result = product_of(result, a);
      a = product_of(a, a);
    }
    return result;
  } else {
    return std::pow(a, b);
  }
}

template <class T>
void scale_typed(const KernelArgs& args) {
  double scale_value = args.input(1) ? args.input(1)->data<float>()[0] : attr<double>(args.node, "scale");
  T scale = Tensor::scalar(scale_value).cast(DTypeOf<T>::value).template data<T>()[0];
  T bias = Tensor::scalar(attr<double>(args.node, "bias")).cast(DTypeOf<T>::value).template data<T>()[0];
  const T* x = args.inputs[0]->data<T>().data();
  T* y = args.outputs[0].mutable_data<T>().data();
  bool bias_after_scale = attr<bool>(args.node, "bias_after_scale");
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    if (bias_after_scale) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = sum_of(product_of(x[i], scale), bias);
    } else {
      for (std::int64_t i = begin; i < end; ++i) y[i] = product_of(sum_of(x[i], bias), scale);
    }
  });
}

}  // namespace

void add(const KernelArgs& args) {
  binary_with_epilogue(args, [](auto a, auto b) { return sum_of(a, b); });
}

void sub(const KernelArgs& args) {
  binary(args, [](auto a, auto b) { return difference_of(a, b); });
}

void mul(const KernelArgs& args) {
  binary_with_epilogue(args, [](auto a, auto b) { return product_of(a, b); });
}

void div(const KernelArgs& args) {
  binary(args, [](auto a, auto b) { return quotient_of(a, b); });
}

void max(const KernelArgs& args) {
  binary(args, [](auto a, auto b) { return a > b ? a : b; });
}

void min(const KernelArgs& args) {
  binary(args, [](auto a, auto b) { return a < b ? a : b; });
}

void pow(const KernelArgs& args) {
  binary(args, [](auto a, auto b) { return power_of(a, b); });
}

void scale(const KernelArgs& args) {
  switch (args.outputs[0].dtype()) {
    case DType::kFloat32:
      return scale_typed<float>(args);
    case DType::kInt32:
      return scale_typed<std::int32_t>(args);
    case DType::kInt64:
      return scale_typed<std::int64_t>(args);
    default:
      check(false, "the op table lets only these dtypes through");
  }
}

void cast(const KernelArgs& args) {
  Tensor& y = args.outputs[0];
  Tensor result = args.inputs[0]->cast(y.dtype());
  if (y.size() > 0) std::memcpy(y.mutable_bytes().data(), result.bytes().data(), y.size_bytes());
}

}  // namespace octet::ref
