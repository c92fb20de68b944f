#include "graph/ops/window.h"

#include <algorithm>

#include "graph/ops/geometry.h"
#include "graph/ops/ops.h"

namespace octet::ops {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMaxPadding = 1 << 16;
constexpr std::int64_t kMaxPadded = std::int64_t{1} << 31;

void infer_pool2d(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  outputs[0] = {DType::kFloat32, pool_shape(node, inputs[0]->shape), nullptr};
}

void infer_resize(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  outputs[0] = {DType::kFloat32, resize_shape(node, inputs), nullptr};
}

// Pairs (before, after) for the last dimension, the one before it, and so on for `axes` dimensions.
MaybeInts pad_amounts(const Node& node, const ValueInfo* input, std::size_t axes) {
  std::optional<MaybeInts> given = ints_from({}, input, attr<Ints>(node, "paddings"), "paddings");
  if (!given) return MaybeInts(2 * axes);
  if (given->size() != 6 && given->size() != 2 * axes)
    fail("paddings has {} numbers, expected {}", given->size(), 2 * axes);
  for (std::size_t i = 0; i < given->size(); ++i) {
    std::int64_t amount = (*given)[i].value_or(0);
    if (amount < -kMaxPadding || amount > kMaxPadding) fail("a padding of {} is absurd", amount);
    if (i >= 2 * axes && amount != 0) fail("x has 4 dimensions, and a fifth is padded by {}", amount);
  }
  given->resize(2 * axes);
  return *given;
}

void infer_pad(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  if (x.shape.size() != 4 && x.shape.size() != 5)
    fail("x has shape {}, expected 4 or 5 dimensions", to_string(x.shape));
  bool reflects = attr<std::string>(node, "mode") == "reflect";
  Shape out = x.shape;
  std::size_t axes = out.size() - 2;
  MaybeInts paddings = pad_amounts(node, input_at(inputs, 1), axes);
  for (std::size_t i = 0; i < axes; ++i) {
    std::optional<std::int64_t> before = paddings[2 * i], after = paddings[2 * i + 1];
    std::int64_t& dim = out[out.size() - 1 - i];
    if (dim == kUnknown || !before || !after) {
      dim = kUnknown;
      continue;
    }
    if (reflects && std::max(*before, *after) >= dim)
      fail("a reflecting padding of {} and {} is not smaller than the dimension {}", *before, *after, dim);
    if (dim < 1 || dim > kMaxPadded || dim + *before + *after < 1)
      fail("a dimension of {} cannot be padded by {} and {}", dim, *before, *after);
    dim += *before + *after;
  }
  outputs[0] = {DType::kFloat32, out, nullptr};
}

}  // namespace

AttrSpec auto_pad_attr() {
  return {"auto_pad", std::string("explicit"), words({"explicit", "same", "valid"})};
}

OpSpec pool_spec(std::string_view name) {
  return {.name = name,
          .attrs = {{"type", std::string("max"), words({"max", "avg"})},
                    {"kernel", Ints{1, 1}, numbers({2}, 1, kMaxExtent)},
                    {"strides", Ints{1, 1}, numbers({2}, 1, kMaxStep)},
                    {"paddings", Ints{0, 0, 0, 0}, numbers({4}, 0, kMaxStep)},
                    auto_pad_attr(),
                    flag("ceil_mode", false),
                    flag("exclusive", true),
                    flag("global", false),
                    flag("adaptive", false)},
          .kind = OpKind::kPool,
          .range = ValueRange::kOfInputsOrZero,
          .homogeneous = true};
}

OpSpec resize_spec(std::string_view name) {
  return {.name = name,
          .inputs = {"x", "out_size?", "scale?", "size*"},
          .attrs = {{"mode", std::string("nearest"), words({"nearest", "bilinear"})},
                    flag("align_corners", false),
                    {"align_mode", std::int64_t{1}, between(0, 1)},
                    {"out_h", std::int64_t{-1}, between(-1, kMaxExtent)},
                    {"out_w", std::int64_t{-1}, between(-1, kMaxExtent)},
                    {"scale", std::vector<double>{}, {.min = -kInfinity, .max = kInfinity, .max_count = 2}}},
          .kind = OpKind::kResize,
          .range = ValueRange::kOfInputsOrZero};
}

Shape pool_shape(const Node& node, const Shape& x) {
  if (x.size() != 4) fail("x has shape {}, expected 4 dimensions", to_string(x));
  Window window = pool_window(node, x[2], x[3]);
  return {x[0], x[1], window.y.out, window.x.out};
}

Shape resize_shape(const Node& node, Inputs inputs) {
  const Shape& x = inputs[0]->shape;
  if (x.size() != 4) fail("x has shape {}, expected 4 dimensions", to_string(x));
  for (std::int64_t side : {x[2], x[3]})
    if (side != kUnknown) checked_size(side);

  const ValueInfo *out_size = input_at(inputs, 1), *scale = input_at(inputs, 2);
  Inputs sizes = inputs.size() > 3 ? inputs.subspan(3) : Inputs();
  if (!sizes.empty() || out_size) {
    std::optional<MaybeInts> size = ints_from(sizes, out_size, {}, "the output size");
    if (size && size->size() != 2)
      fail("the output size has {} numbers, expected height and width", size->size());
    auto side = [&](std::size_t i) { return size && (*size)[i] ? checked_size(*(*size)[i]) : kUnknown; };
    return {x[0], x[1], side(0), side(1)};
  }
  if (scale && !scale->data) return {x[0], x[1], kUnknown, kUnknown};
  if (auto factors = resize_factors(node, scale ? scale->data : nullptr))
    return {x[0], x[1], scaled_size(x[2], (*factors)[0]), scaled_size(x[3], (*factors)[1])};
  return {x[0], x[1], checked_size(attr<std::int64_t>(node, "out_h")),
          checked_size(attr<std::int64_t>(node, "out_w"))};
}

std::vector<OpSpec> window() {
  OpSpec pool = pool_spec("pool2d"), resize = resize_spec("resize");
  pool.infer = infer_pool2d;
  resize.infer = infer_resize;
  pool.integer_op = "qpool2d";
  resize.integer_op = "qresize";
  pool.quantizable = resize.quantizable = true;
  OpSpec pad{.name = "pad",
             .inputs = {"x", "paddings?"},
             .attrs = {{"paddings", Ints{0, 0, 0, 0, 0, 0}, numbers({4, 6}, -kMaxPadding, kMaxPadding)},
                       {"mode", "constant", words({"constant", "reflect", "replicate", "circular"})},
                       number_attr("value", 0)},
             .infer = infer_pad,
             .kind = OpKind::kDataMovement,
             .selects = true};
  return {pool, resize, pad};
}

}  // namespace octet::ops
