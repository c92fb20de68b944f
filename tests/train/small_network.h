#pragma once
#include "graph/builder.h"
#include "kernels/ref/random.h"

namespace octet::testing {

// A classifier of three classes for pictures of any size, with what trainable networks have: convolutions,
// batch norms, smooth activations, a shortcut, and a linear layer.
inline Graph small_network() {
  Builder b;
  std::uint32_t seed = 0;
  const auto random = [&](const std::string& name, Shape shape, float low = -0.5f, float high = 0.5f) {
    return b.constant(name, random_floats(std::move(shape), ++seed, low, high));
  };
  const auto batch_norm = [&](const std::string& name, ValueId x, std::int64_t channels) {
    return b.op("batch_norm",
                {x, random(name + ".weight", {channels}, 0.5f, 1.5f), random(name + ".bias", {channels}),
                 random(name + "._mean", {channels}), random(name + "._variance", {channels}, 0.5f, 2)});
  };
  const ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId y =
      b.conv2d(x, random("conv1.weight", {4, 3, 3, 3}), {.strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  y = b.op("swish", {batch_norm("bn1", y, 4)});
  ValueId z = b.conv2d(y, random("conv2.weight", {4, 1, 3, 3}), {.paddings = {1, 1, 1, 1}, .groups = 4});
  z = b.op("add", {b.op("sigmoid", {batch_norm("bn2", z, 4)}), y});
  z = b.op("reduce_mean", {z}, {{"axes", std::vector<std::int64_t>{2, 3}}});
  z = b.op("add", {b.op("matmul", {z, random("fc.weight", {4, 3})}), random("fc.bias", {3})});
  return b.build({z});
}

}  // namespace octet::testing
