#include "graph/ops/infer.h"
#include "kernels/blocks.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// z[i] = function(x[i], y[i]), with x and y broadcast to z.
template <class T, class Function>
void compare(const KernelArgs& args, const Function& function) {
  const Tensor &x = *args.input("x"), &y = *args.input("y");
  ops::Broadcast shapes = ops::broadcast(x.shape(), y.shape(), attr<std::int64_t>(args.node, "axis"));
  std::array<Shape, 2> strides = {broadcast_strides(shapes.x), broadcast_strides(shapes.y)};
  const T *left = x.data<T>().data(), *right = y.data<T>().data();
  bool* z = args.outputs[0].mutable_data<bool>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    walk(shapes.out, strides, begin, end, [&](std::int64_t i, const std::array<std::int64_t, 2>& at) {
      z[i] = function(left[at[0]], right[at[1]]);
    });
  });
}

}  // namespace

void equal(const KernelArgs& args) {
  with_type(args.inputs[0]->dtype(), [&]<class T>() { compare<T>(args, [](T a, T b) { return a == b; }); });
}

void less(const KernelArgs& args) {
  with_number(args.inputs[0]->dtype(), [&]<class T>() { compare<T>(args, [](T a, T b) { return a < b; }); });
}

void less_equal(const KernelArgs& args) {
  with_number(args.inputs[0]->dtype(), [&]<class T>() { compare<T>(args, [](T a, T b) { return a <= b; }); });
}

void logical_and(const KernelArgs& args) {
  compare<bool>(args, [](bool a, bool b) { return a && b; });
}

void logical_or(const KernelArgs& args) {
  compare<bool>(args, [](bool a, bool b) { return a || b; });
}

void logical_xor(const KernelArgs& args) {
  compare<bool>(args, [](bool a, bool b) { return a != b; });
}

void logical_not(const KernelArgs& args) {
  const bool* x = args.inputs[0]->data<bool>().data();
  bool* y = args.outputs[0].mutable_data<bool>().data();
  for (std::int64_t i = 0; i < args.outputs[0].size(); ++i) y[i] = !x[i];
}

void where(const KernelArgs& args) {
  const Tensor &condition = *args.input("condition"), &x = *args.input("x"), &y = *args.input("y");
  Tensor& z = args.outputs[0];
  std::array<Shape, 3> strides;
  for (std::size_t k : {0, 1, 2}) {
    Shape shape = args.inputs[k]->shape();
    shape.insert(shape.begin(), z.shape().size() - shape.size(), 1);
    strides[k] = broadcast_strides(shape);
  }
  const bool* choose = condition.data<bool>().data();
  with_size(z.dtype(), [&]<class T>() {
    const T *yes = elements<T>(x), *no = elements<T>(y);
    T* to = mutable_elements<T>(z);
    for_blocks(args.pool, z.size(), [&](std::int64_t begin, std::int64_t end) {
      walk(z.shape(), strides, begin, end, [&](std::int64_t i, const std::array<std::int64_t, 3>& at) {
        to[i] = choose[at[0]] ? yes[at[1]] : no[at[2]];
      });
    });
  });
}

}  // namespace octet::ref
