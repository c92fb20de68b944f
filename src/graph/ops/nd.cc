#include "graph/ops/nd.h"

#include <algorithm>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace octet::ops {

namespace {

constexpr std::int64_t kMaxSide = std::int64_t{1} << 31;

// An attribute with a number for each of `count` dimensions; none given: all `value`.
IntList per_dimension(const Node& node, std::string_view name, std::size_t count, std::int64_t value) {
  auto given = attr<IntList>(node, name);
  if (given.empty()) given.assign(count, value);
  if (given.size() != count) fail("{} has {} numbers, expected {}", name, given.size(), count);
  return given;
}

// Attributes that all three have, without output sizes.
std::vector<WindowAxis> common_window(const Node& node, const Shape& x, const Shape& kernel) {
  std::size_t count = x.size() - 2;
  IntList strides = per_dimension(node, "strides", count, 1),
          dilations = per_dimension(node, "dilations", count, 1),
          pads = per_dimension(node, "paddings", 2 * count, 0);
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis axis{x[2 + i], kernel[i], strides[i], dilations[i], pads[2 * i], pads[2 * i + 1], kUnknown};
    if (axis.in != kUnknown && (axis.in < 1 || axis.in > kMaxSide))
      fail("x has shape {}, which is no sensible size", to_string(x));
    if (axis.kernel != kUnknown && (axis.kernel < 1 || axis.kernel > kMaxExtent))
      fail("the kernel has a side of {}, expected 1 to {}", axis.kernel, kMaxExtent);
    axes.push_back(axis);
  }
  return axes;
}

// `total` on both sides, the larger half where the mode says.
void split_padding(WindowAxis& axis, std::int64_t total, const std::string& mode) {
  total = std::max<std::int64_t>(total, 0);
  axis.before = mode == "same_lower" ? total - total / 2 : total / 2;
  axis.after = total - axis.before;
}

void require_spatial(const ValueInfo& x) {
  if (x.shape.size() < 3 || x.shape.size() > 5)
    fail("x has shape {}, expected 3 to 5 dimensions", to_string(x.shape));
}

void infer_pool_nd(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_spatial(x);
  if (attr<std::string>(node, "type") == "max")
    require_dtype(x, "x", {DType::kFloat32, DType::kInt8, DType::kUInt8});
  else
    require_float(x, "x");
  Shape out(x.shape.begin(), x.shape.begin() + 2);
  for (const WindowAxis& axis :
       nd_window(node, x.shape, per_dimension(node, "kernel", x.shape.size() - 2, 1)))
    out.push_back(axis.out);
  outputs[0] = {x.dtype, out};
  if (outputs.size() > 1) {
    if (attr<std::string>(node, "type") != "max") fail("only a pool of largest ones has indices");
    outputs[1] = {DType::kInt64, out};
  }
}

// x, weight and bias of a convolution; the kernel's sizes.
Shape require_convolution(Inputs inputs) {
  require_spatial(*inputs[0]);
  require_float(*inputs[0], "x");
  require_float(*inputs[1], "weight");
  require_rank(*inputs[1], "weight", inputs[0]->shape.size());
  const Shape& weight = inputs[1]->shape;
  return {weight.begin() + 2, weight.end()};
}

void finish_convolution(Inputs inputs, Shape out, const std::vector<WindowAxis>& window, Outputs outputs) {
  if (const ValueInfo* bias = input_at(inputs, 2)) {
    require_float(*bias, "bias");
    require_vector(*bias, "bias", out[1]);
  }
  for (const WindowAxis& axis : window) out.push_back(axis.out);
  outputs[0] = {DType::kFloat32, std::move(out)};
}

void infer_conv_nd(const Node& node, Inputs inputs, Outputs outputs) {
  Shape kernel = require_convolution(inputs);
  const Shape &x = inputs[0]->shape, &weight = inputs[1]->shape;
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  bool known = x[1] != kUnknown && weight[1] != kUnknown;
  if ((known && x[1] != weight[1] * groups) || (weight[0] != kUnknown && weight[0] % groups != 0) ||
      weight[1] == 0)
    fail("x has {} channels, which does not fit groups {} and weight {}", x[1], groups, to_string(weight));
  finish_convolution(inputs, {x[0], weight[0]}, nd_window(node, x, kernel), outputs);
}

void infer_conv_nd_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  Shape kernel = require_convolution(inputs);
  const Shape &x = inputs[0]->shape, &weight = inputs[1]->shape;
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  std::int64_t channels = merge_dims(x[1], weight[0], "the channels of x and weight");
  if ((channels != kUnknown && channels % groups != 0) || weight[1] == 0)
    fail("weight {} does not fit groups {}", to_string(weight), groups);
  finish_convolution(inputs, {x[0], weight[1] == kUnknown ? kUnknown : weight[1] * groups},
                     nd_transpose_window(node, x, kernel), outputs);
}

}  // namespace

std::vector<WindowAxis> nd_window(const Node& node, const Shape& x, const Shape& kernel) {
  std::vector<WindowAxis> axes = common_window(node, x, kernel);
  std::string mode = attr<std::string>(node, "auto_pad");
  bool ceil_mode = has_attr(spec_of(node), "ceil_mode") && attr<bool>(node, "ceil_mode");
  for (WindowAxis& axis : axes) {
    if (mode != "explicit") axis.before = axis.after = 0;
    if (axis.in == kUnknown || axis.kernel == kUnknown) continue;
    std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
    if (mode.starts_with("same"))
      split_padding(axis, ((axis.in + axis.stride - 1) / axis.stride - 1) * axis.stride + extent - axis.in,
                    mode);
    std::int64_t room = axis.in + axis.before + axis.after - extent;
    if (room < 0)
      fail("a window of {} does not fit into {} elements with paddings of {} and {}", extent, axis.in,
           axis.before, axis.after);
    axis.out = (ceil_mode ? (room + axis.stride - 1) / axis.stride : room / axis.stride) + 1;
    if (ceil_mode && (axis.out - 1) * axis.stride >= axis.in + axis.before) --axis.out;
  }
  return axes;
}

std::vector<WindowAxis> nd_transpose_window(const Node& node, const Shape& x, const Shape& kernel) {
  std::vector<WindowAxis> axes = common_window(node, x, kernel);
  std::string mode = attr<std::string>(node, "auto_pad");
  auto size = attr<IntList>(node, "output_size");
  if (!size.empty() && size.size() != axes.size())
    fail("output_size has {} numbers, expected {}", size.size(), axes.size());
  IntList extra = per_dimension(node, "output_padding", axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WindowAxis& axis = axes[i];
    if (!size.empty()) axis.out = size[i];
    if (axis.in == kUnknown || axis.kernel == kUnknown) continue;
    std::int64_t full = (axis.in - 1) * axis.stride + axis.dilation * (axis.kernel - 1) + 1 + extra[i];
    if (!size.empty())
      split_padding(axis, full - size[i], mode == "same_upper" ? mode : "same_lower");
    else if (mode.starts_with("same"))
      split_padding(axis, full - axis.in * axis.stride, mode);
    else if (mode == "valid")
      axis.before = axis.after = 0;
    if (size.empty()) axis.out = full - axis.before - axis.after;
    if (axis.out < 1) fail("the paddings leave nothing of the output");
  }
  return axes;
}

std::vector<OpSpec> nd() {
  auto list = [](std::string_view name, double min, double max) {
    return AttrSpec{name, IntList{}, {.min = min, .max = max, .max_count = 6}};
  };
  const std::vector<AttrSpec> window = {list("strides", 1, kMaxStep), list("paddings", 0, kMaxStep),
                                        list("dilations", 1, kMaxStep), auto_pad_attr()};
  auto with = [&](std::vector<AttrSpec> more) {
    more.insert(more.begin(), window.begin(), window.end());
    return more;
  };
  const AttrSpec groups{"groups", std::int64_t{1}, between(1, 1 << 20)};
  OpSpec pool{.name = "pool_nd",
              .outputs = {"y", "indices?"},
              .attrs = with({{"type", std::string("max"), words({"max", "avg", "lp"})},
                             list("kernel", 1, kMaxExtent),
                             flag("ceil_mode", false),
                             flag("exclusive", true),
                             {"p", std::int64_t{2}, between(1, 64)},
                             flag("column_major", false)}),
              .infer = infer_pool_nd,
              .kind = OpKind::kReduction,
              .trainable = false};
  OpSpec conv{.name = "conv_nd",
              .inputs = {"x", "weight", "bias?"},
              .attrs = with({groups}),
              .infer = infer_conv_nd,
              .kind = OpKind::kReduction,
              .trainable = false};
  OpSpec transpose = conv;
  transpose.name = "conv_nd_transpose";
  transpose.attrs = with({groups, list("output_padding", 0, kMaxStep), list("output_size", 1, kMaxExtent)});
  transpose.infer = infer_conv_nd_transpose;
  return {pool, conv, transpose};
}

}  // namespace octet::ops
