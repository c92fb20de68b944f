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

void infer_resize_arg_max(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  Shape out = resize_shape(node, inputs);
  if (out[1] == 0) fail("x has shape {}: no elements, no maximum", to_string(inputs[0]->shape));
  if (attr<bool>(node, "keepdims"))
    out[1] = 1;
  else
    out.erase(out.begin() + 1);
  outputs[0] = {dtype_attr(node, "dtype"), out, nullptr};
}

// Pairs (before, after) for the last dimension, the one before it, and so on for all of `rank`.
MaybeInts pad_amounts(const Node& node, const ValueInfo* input, std::size_t rank) {
  std::optional<MaybeInts> given = ints_from({}, input, attr<Ints>(node, "paddings"), "paddings");
  if (!given) return MaybeInts(2 * rank);
  if (given->size() % 2 != 0) fail("paddings has {} numbers, expected two a dimension", given->size());
  for (std::size_t i = 0; i < given->size(); ++i) {
    std::int64_t amount = (*given)[i].value_or(0);
    if (amount < -kMaxPadding || amount > kMaxPadding) fail("a padding of {} is absurd", amount);
    if (i >= 2 * rank && amount != 0)
      fail("x has {} dimensions, and another one is padded by {}", rank, amount);
  }
  given->resize(2 * rank, 0);
  return *given;
}

void infer_pad(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  std::string mode = attr<std::string>(node, "mode");
  if (const ValueInfo* value = input_at(inputs, 2)) {
    require_dtype(*value, "value", {x.dtype});
    merge_dims(product(value->shape), 1, "the number of elements of value");
  } else if (mode == "constant" && (x.dtype == DType::kFloat16 || x.dtype == DType::kBFloat16)) {
    fail("x is {}, octet computes in float32", name_of(x.dtype));
  }
  Shape out = x.shape;
  MaybeInts paddings = pad_amounts(node, input_at(inputs, 1), out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::optional<std::int64_t> before = paddings[2 * i], after = paddings[2 * i + 1];
    if (before == 0 && after == 0) continue;
    std::int64_t& dim = out[out.size() - 1 - i];
    if (dim == kUnknown || !before || !after) {
      dim = kUnknown;
      continue;
    }
    if (mode == "reflect" && std::max(*before, *after) >= dim)
      fail("a reflecting padding of {} and {} is not smaller than the dimension {}", *before, *after, dim);
    bool nothing = dim < 1 && mode != "constant";
    if (nothing || dim > kMaxPadded || dim + *before + *after < 1)
      fail("a dimension of {} cannot be padded by {} and {}", dim, *before, *after);
    dim += *before + *after;
  }
  check_made(out);
  outputs[0] = {x.dtype, out, nullptr};
}

}  // namespace

AttrSpec auto_pad_attr() {
  return {"auto_pad", std::string("explicit"),
          words({"explicit", "same", "same_upper", "same_lower", "valid"})};
}

AttrSpec coordinates_attr(const char* value) {
  return {"coordinates", std::string(value),
          words({"paddle", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                 "asymmetric", "tf_half_pixel_for_nn", "crop"})};
}

AttrSpec nearest_attr() {
  return {"nearest", std::string("round_prefer_floor"),
          words({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})};
}

void check_resize(const Graph&, const Node& node) {
  if (attr<std::string>(node, "coordinates") == "crop") fail("resize cannot crop; op resample can");
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
                    {"convention", std::string("paddle"), words({"paddle", "onnx"})},
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
                    {"scale", std::vector<double>{}, {.min = -kInfinity, .max = kInfinity, .max_count = 2}},
                    coordinates_attr("paddle"),
                    nearest_attr()},
          .check = check_resize,
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
             .inputs = {"x", "paddings?", "value?"},
             .attrs = {{"paddings",
                        Ints{0, 0, 0, 0, 0, 0},
                        {.min = -kMaxPadding, .max = kMaxPadding, .max_count = 2 * kMaxRank}},
                       {"mode", "constant", words({"constant", "reflect", "replicate", "circular"})},
                       number_attr("value", 0)},
             .infer = infer_pad,
             .kind = OpKind::kDataMovement,
             .selects = true};
  OpSpec arg_max = resize_spec("resize_arg_max");
  arg_max.attrs.push_back(flag("keepdims", false));
  arg_max.attrs.push_back({"dtype", "int64", words({"int32", "int64"})});
  arg_max.infer = infer_resize_arg_max;
  arg_max.range = ValueRange::kNonNegative;
  arg_max.trainable = false;
  return {pool, resize, arg_max, pad};
}

}  // namespace octet::ops
