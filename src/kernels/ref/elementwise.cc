#include <cmath>
#include <cstring>
#include <type_traits>

#include "graph/ops/infer.h"
#include "kernels/blocks.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// store(i, function(x, y)) for each element i of the result, where x and y are broadcast to its shape.
template <class T, class Function, class StoreOne>
void binary(const KernelArgs& args, const Function& function, const StoreOne& store) {
  const Tensor &x = *args.inputs[0], &y = *args.input("y");
  ops::Broadcast shapes = ops::broadcast(x.shape(), y.shape(), attr<std::int64_t>(args.node, "axis"));
  std::array<Shape, 2> strides = {broadcast_strides(shapes.x), broadcast_strides(shapes.y)};
  const T *x_data = x.data<T>().data(), *y_data = y.data<T>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    walk(shapes.out, strides, begin, end, [&](std::int64_t i, const std::array<std::int64_t, 2>& at) {
      store(i, function(x_data[at[0]], y_data[at[1]]));
    });
  });
}

template <class T, class Function>
void binary_plain(const KernelArgs& args, const Function& function) {
  T* z = args.outputs[0].mutable_data<T>().data();
  binary<T>(args, function, [=](std::int64_t i, T value) { z[i] = value; });
}

template <class Function>
void binary(const KernelArgs& args, const Function& function) {
  with_number(args.inputs[0]->dtype(), [&]<class T>() { binary_plain<T>(args, function); });
}

// add and mul have an epilogue, on floats.
template <class Function>
void binary_with_epilogue(const KernelArgs& args, const Function& function) {
  if (args.inputs[0]->dtype() != DType::kFloat32) return binary(args, function);
  Store store(args);
  binary<float>(args, function, [&](std::int64_t i, float value) { store(value, i); });
}

// The same on what integers stand for: how far each lies from its zero, times its step.
template <class Function>
void binary_of_integers(const KernelArgs& args, const Function& function) {
  float x_step = args.input("x_step")->data<float>()[0], y_step = args.input("y_step")->data<float>()[0];
  const auto x_zero = static_cast<float>(attr<int>(args.node, "x_zero")),
             y_zero = static_cast<float>(attr<int>(args.node, "y_zero"));
  Store store(args);
  binary<std::int8_t>(
      args,
      [&](std::int8_t x, std::int8_t y) {
        return function((static_cast<float>(x) - x_zero) * x_step, (static_cast<float>(y) - y_zero) * y_step);
      },
      [&](std::int64_t i, float value) { store(value, i); });
}

// Integers wrap around; in C++ only unsigned ones do, and small ones are widened to int.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

template <class T>
T difference_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}

template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) fail("div: an integer is divided by 0");
    return b == T(-1) && std::is_signed_v<T> ? difference_of(T(0), a) : static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

template <class T>
T power_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (std::is_signed_v<T> && b < 0) {  // the fraction 1/a^-b, rounded to an integer
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

// The rest of a division that goes towards zero, or else of one that goes down: it has the divisor's sign.
template <class T>
T remainder_of(T a, T b, bool truncated) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) fail("mod: an integer is divided by 0");
    if (std::is_signed_v<T> && b == T(-1)) return 0;
    T rest = static_cast<T>(a % b);
    return truncated || rest == 0 || (rest < 0) == (b < 0) ? rest : static_cast<T>(rest + b);
  } else {
    T rest = std::fmod(a, b);
    return truncated || rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
  }
}

template <class T>
void scale_typed(const KernelArgs& args) {
  double scale_value =
      args.input("scale") ? args.input("scale")->data<float>()[0] : attr<double>(args.node, "scale");
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

void mod(const KernelArgs& args) {
  bool truncated = attr<bool>(args.node, "truncated");
  binary(args, [=](auto a, auto b) { return remainder_of(a, b, truncated); });
}

void prelu(const KernelArgs& args) {
  binary(args, [](auto x, auto slope) { return x > 0 ? x : product_of(slope, x); });
}

void scale(const KernelArgs& args) {
  with_number(args.outputs[0].dtype(), [&]<class T>() { scale_typed<T>(args); });
}

void qadd(const KernelArgs& args) {
  binary_of_integers(args, [](float x, float y) { return x + y; });
}

void qmul(const KernelArgs& args) {
  binary_of_integers(args, [](float x, float y) { return x * y; });
}

void cast(const KernelArgs& args) {
  Tensor& y = args.outputs[0];
  Tensor result = args.inputs[0]->cast(y.dtype());
  if (y.size() > 0) std::memcpy(y.mutable_bytes().data(), result.bytes().data(), y.size_bytes());
}

}  // namespace octet::ref
