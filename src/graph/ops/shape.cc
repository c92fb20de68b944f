#include <algorithm>
#include <cmath>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/resolve.h"

namespace octet::ops {

namespace {

Inputs rest(Inputs inputs, std::size_t first) {
  return inputs.size() > first ? inputs.subspan(first) : Inputs{};
}

// The one open dim of a reshape: what is left of x's elements after the other dims. Dims that are copied from
// x cancel out, so an unknown batch size is no obstacle.
std::int64_t open_dim(const Shape& x, const Shape& out, const std::vector<bool>& copied, std::size_t open) {
  Shape have, used;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i >= copied.size() || !copied[i]) have.push_back(x[i]);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!copied[i] && i != open) used.push_back(out[i]);
  std::int64_t total = product(have), divisor = product(used);
  if (total == 0) return 0;
  if (total == kUnknown || divisor == kUnknown) return kUnknown;
  if (divisor == 0 || total % divisor != 0)
    fail("x of shape {} does not fit into {}", to_string(x), to_string(out));
  return total / divisor;
}

void infer_reshape(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  auto wanted = ints_from(rest(inputs, 2), input_at(inputs, 1),
                          attr<std::vector<std::int64_t>>(node, "shape"), "shape");
  outputs[0].dtype = inputs[0]->dtype;
  if (!wanted) return;
  if (wanted->size() > kMaxRank)
    fail("shape has {} dimensions, octet takes at most {}", wanted->size(), kMaxRank);
  bool zero_copies = attr<bool>(node, "zero_copies");
  Shape out;
  std::vector<bool> copied(wanted->size(), false);
  std::size_t open = 0, open_count = 0, minus_ones = 0;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::optional<std::int64_t> dim = (*wanted)[i];
    if (dim && *dim < -1) fail("shape has a dimension {}", *dim);
    copied[i] = dim == 0 && zero_copies;
    if (copied[i] && i >= x.size())
      fail("shape copies dimension {} of x, which has shape {}", i, to_string(x));
    out.push_back(copied[i] ? x[i] : dim.value_or(kUnknown));
    if (dim == -1) ++minus_ones;
    if (!dim || dim == -1) open = i, ++open_count;
  }
  if (minus_ones > 1) fail("shape {} leaves more than one dimension open", to_string(out));
  if (open_count == 1) out[open] = open_dim(x, out, copied, open);
  std::int64_t before = product(x), after = product(out);
  if (before != kUnknown && after != kUnknown && before != after)
    fail("x of shape {} does not fit into {}", to_string(x), to_string(out));
  outputs[0].shape = std::move(out);
}

void infer_flatten(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  outputs[0] = {inputs[0]->dtype, {1}};
  if (x.empty()) return;
  auto start = static_cast<std::size_t>(
      normalize_axis(attr<std::int64_t>(node, "start_axis"), x.size(), "start_axis"));
  auto stop =
      static_cast<std::size_t>(normalize_axis(attr<std::int64_t>(node, "stop_axis"), x.size(), "stop_axis"));
  if (start > stop) fail("start_axis {} comes after stop_axis {}", start, stop);
  Shape& out = outputs[0].shape;
  out.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(start));
  out.push_back(product(x, start, stop + 1));
  out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(stop) + 1, x.end());
}

// The axes of squeeze and unsqueeze; nothing when they are not known yet.
std::optional<std::vector<std::int64_t>> axes_of(const Node& node, Inputs inputs) {
  auto maybe = ints_from({}, input_at(inputs, 1), attr<std::vector<std::int64_t>>(node, "axes"), "axes");
  if (!maybe) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (auto axis : *maybe) {
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

void infer_squeeze(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  outputs[0].dtype = inputs[0]->dtype;
  auto axes = axes_of(node, inputs);
  if (!axes) return;
  std::vector<bool> named(x.size(), axes->empty());
  for (std::int64_t axis : *axes)
    named[static_cast<std::size_t>(normalize_axis(axis, x.size(), "axes"))] = true;
  bool strict = attr<bool>(node, "strict") && !axes->empty();
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (strict && named[i]) {
      merge_dims(x[i], 1, fmt::format("dimension {} of {}, which is squeezed", i, to_string(x)));
      continue;
    }
    if (named[i] && x[i] == kUnknown) return;  // whether this dim goes is decided by a run
    if (!named[i] || x[i] != 1) out.push_back(x[i]);
  }
  outputs[0].shape = std::move(out);
}

void infer_unsqueeze(const Node& node, Inputs inputs, Outputs outputs) {
  outputs[0].dtype = inputs[0]->dtype;
  auto axes = axes_of(node, inputs);
  if (!axes) return;
  Shape out = inputs[0]->shape;
  if (axes->size() + out.size() > kMaxRank)
    fail("the result would have {} dimensions", axes->size() + out.size());
  for (std::int64_t axis :
       *axes)  // one after the other, as Paddle does: each counts in what is there already
    out.insert(out.begin() + normalize_axis(axis, out.size() + 1, "axes"), 1);
  outputs[0].shape = std::move(out);
}

void infer_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  Shape out;
  for (std::size_t i : permutation(node, x.size())) out.push_back(x[i]);
  outputs[0] = {inputs[0]->dtype, std::move(out)};
}

void infer_concat(const Node& node, Inputs inputs, Outputs outputs) {
  Inputs parts = rest(inputs, 1);
  if (parts.empty()) fail("nothing to join");
  const ValueInfo& first = *parts[0];
  if (first.shape.empty()) fail("scalars cannot be joined");
  for (const ValueInfo* part : parts) {
    require_dtype(*part, "x", {first.dtype});
    require_rank(*part, "x", first.shape.size());
  }
  auto axis = attr_or_input(node, "axis", inputs[0]);
  outputs[0] = {first.dtype, Shape(first.shape.size(), kUnknown)};
  if (!axis) return;
  Shape out = first.shape;
  auto along = static_cast<std::size_t>(normalize_axis(*axis, out.size()));
  for (const ValueInfo* part : parts.subspan(1)) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i != along) {
        out[i] = merge_dims(
            out[i], part->shape[i],
            fmt::format("dimension {} of {} and {}", i, to_string(first.shape), to_string(part->shape)));
      } else {
        bool known = out[i] != kUnknown && part->shape[i] != kUnknown;
        out[i] = known ? out[i] + part->shape[i] : kUnknown;
      }
    }
    check_shape(out, "the output");  // before the sum could overflow
  }
  outputs[0].shape = std::move(out);
}

// The sizes of the parts that a dim of `size` is split into.
Shape split_sizes(const Node& node, std::int64_t size, std::size_t parts, const ValueInfo* given) {
  std::int64_t num = given ? 0 : attr<std::int64_t>(node, "num");
  std::vector<std::int64_t> sections;
  std::optional<MaybeInts> maybe =
      ints_from({}, given, attr<std::vector<std::int64_t>>(node, "sections"), "sections");
  for (const auto& section : maybe ? *maybe : MaybeInts()) {
    if (!section) return Shape(parts, kUnknown);
    sections.push_back(*section);
  }
  if (!maybe) return Shape(parts, kUnknown);
  auto count = static_cast<std::int64_t>(parts);
  if (num == 0 && sections.empty()) fail("neither num nor sections says how to split");
  if (num != 0) {
    if (num != count) fail("num is {}, there are {} outputs", num, count);
    if (attr<bool>(node, "uneven") && size != kUnknown) {
      std::int64_t each = size / num + (size % num != 0 ? 1 : 0);
      Shape sizes(parts, each);
      sizes.back() = size - each * (num - 1);
      if (sizes.back() < 0) fail("{} elements cannot be split into {} parts of {}", size, num, each);
      return sizes;
    }
    if (size != kUnknown && size % num != 0)
      fail("{} elements cannot be split into {} equal parts", size, num);
    return Shape(parts, size == kUnknown ? kUnknown : size / num);
  }
  if (sections.size() != parts) fail("{} sections, there are {} outputs", sections.size(), parts);
  auto open = std::find(sections.begin(), sections.end(), -1);
  Shape known;
  for (auto it = sections.begin(); it != sections.end(); ++it) {
    if (it == open) continue;
    if (*it < 0) fail("sections [{}]: {} is no size", fmt::join(sections, ","), *it);
    known.push_back(*it);
  }
  std::int64_t sum = 0;
  for (std::int64_t section : known) sum += element_count({section});  // bounded, so the sum cannot overflow
  if (size == kUnknown) return sections;
  if (sum > size || (open == sections.end() && sum != size))
    fail("sections [{}] do not add up to {}", fmt::join(sections, ","), size);
  if (open != sections.end()) *open = size - sum;
  return sections;
}

void infer_split(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  auto axis = attr_or_input(node, "axis", input_at(inputs, 1));
  for (ValueInfo& output : outputs) output = {x.dtype, Shape(x.shape.size(), kUnknown)};
  if (!axis) return;
  auto along = static_cast<std::size_t>(normalize_axis(*axis, x.shape.size()));
  Shape sizes = split_sizes(node, x.shape[along], outputs.size(), input_at(inputs, 2));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].shape = x.shape;
    outputs[i].shape[along] = sizes[i];
  }
}

void infer_slice(const Node& node, Inputs inputs, Outputs outputs) {
  outputs[0] = {inputs[0]->dtype, {}};
  for (const SliceDim& dim : slice_dims(node, inputs))
    if (!dim.dropped) outputs[0].shape.push_back(dim.size);
}

void infer_shape(const Node& node, Inputs inputs, Outputs outputs) {
  outputs[0] = {dtype_attr(node, "dtype"), {static_cast<std::int64_t>(inputs[0]->shape.size())}};
}

void infer_full(const Node& node, Inputs inputs, Outputs outputs) {
  outputs[0].dtype = dtype_attr(node, "dtype");
  if (outputs[0].dtype == DType::kFloat16 || outputs[0].dtype == DType::kBFloat16)
    fail("dtype {} is not supported; octet computes in float32", name_of(outputs[0].dtype));
  if (const ValueInfo* value = input_at(inputs, 1))
    merge_dims(product(value->shape), 1, "the number of elements of value");
  auto wanted = ints_from(rest(inputs, 2), input_at(inputs, 0),
                          attr<std::vector<std::int64_t>>(node, "shape"), "shape");
  if (!wanted) return;
  Shape out;
  for (auto dim : *wanted) {
    if (dim && *dim < 0) fail("shape has a dimension {}", *dim);
    out.push_back(dim.value_or(kUnknown));
  }
  check_made(out);
  outputs[0].shape = std::move(out);
}

// How many numbers of `range` there are; nothing before a run decides it.
template <class T>
std::int64_t range_count(const Tensor& start, const Tensor& limit, const Tensor& step) {
  T first = start.data<T>()[0], last = limit.data<T>()[0], delta = step.data<T>()[0];
  if (delta == 0) fail("range: a step of 0 leads nowhere");
  double count = 0;
  if constexpr (std::is_integral_v<T>) {
    __int128 distance = static_cast<__int128>(last) - first, stride = delta;
    if (distance != 0 && (distance < 0) == (stride < 0))
      count = static_cast<double>((distance + stride + (stride < 0 ? 1 : -1)) / stride);
  } else {
    count = std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(delta));
  }
  constexpr double kMany = 1e15;
  if (!(count > 0)) count = 0;  // NaN, too
  return static_cast<std::int64_t>(std::min(count, kMany));
}

void infer_range(const Node&, Inputs inputs, Outputs outputs) {
  constexpr std::string_view kNames[] = {"start", "limit", "step"};
  DType dtype = inputs[0]->dtype;
  require_dtype(*inputs[0], "start",
                {DType::kFloat32, DType::kFloat64, DType::kInt16, DType::kInt32, DType::kInt64});
  outputs[0] = {dtype, {kUnknown}};
  for (std::size_t i : {0, 1, 2}) {
    require_dtype(*inputs[i], kNames[i], {dtype});
    merge_dims(product(inputs[i]->shape), 1, fmt::format("the number of elements of {}", kNames[i]));
  }
  for (const ValueInfo* input : inputs)
    if (!input->data) return;
  const Tensor &start = *inputs[0]->data, &limit = *inputs[1]->data, &step = *inputs[2]->data;
  std::int64_t count = dtype == DType::kFloat32   ? range_count<float>(start, limit, step)
                       : dtype == DType::kFloat64 ? range_count<double>(start, limit, step)
                       : dtype == DType::kInt16   ? range_count<std::int16_t>(start, limit, step)
                       : dtype == DType::kInt32   ? range_count<std::int32_t>(start, limit, step)
                                                  : range_count<std::int64_t>(start, limit, step);
  outputs[0].shape = {count};
  check_made(outputs[0].shape);
}

void infer_reorder(const Node&, Inputs inputs, Outputs outputs) {
  require_rank(*inputs[0], "x", 4);
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape, nullptr};
}

}  // namespace

std::vector<OpSpec> shape() {
  auto moves = [](OpKind kind, OpSpec spec) {
    spec.kind = kind;
    spec.range = ValueRange::kOfInputs;
    spec.selects = true;
    return spec;
  };
  const Allowed many{.min = anything().min, .max = anything().max, .max_count = 1 << 16};
  auto ints = [](std::string_view name) { return AttrSpec{name, IntList{}, anything()}; };
  OpSpec concat = moves(OpKind::kDataMovement, {.name = "concat",
                                                .inputs = {"axis?", "x*"},
                                                .attrs = {axis_attr(0)},
                                                .infer = infer_concat,
                                                .integer_op = "concat",
                                                .quantizable = true});
  return {
      moves(OpKind::kView, {.name = "reshape",
                            .inputs = {"x", "shape?", "dims*"},
                            .attrs = {ints("shape"), flag("zero_copies", true)},
                            .infer = infer_reshape}),
      moves(OpKind::kView, {.name = "flatten",
                            .attrs = {axis_attr(1, "start_axis"), axis_attr(-1, "stop_axis")},
                            .infer = infer_flatten}),
      moves(OpKind::kView, {.name = "squeeze",
                            .inputs = {"x", "axes?"},
                            .attrs = {axes_attr("axes"), flag("strict", false)},
                            .infer = infer_squeeze}),
      moves(OpKind::kView, {.name = "unsqueeze",
                            .inputs = {"x", "axes?"},
                            .attrs = {axes_attr("axes")},
                            .infer = infer_unsqueeze}),
      moves(OpKind::kDataMovement,
            {.name = "transpose", .attrs = {axes_attr("perm")}, .infer = infer_transpose}),
      concat,
      moves(OpKind::kDataMovement, {.name = "split",
                                    .inputs = {"x", "axis?", "sections?"},
                                    .outputs = {"y*"},
                                    .attrs = {axis_attr(0),
                                              {"num", 0, between(0, 1 << 16)},
                                              {"sections", IntList{}, many},
                                              flag("uneven", false)},
                                    .infer = infer_split}),
      moves(OpKind::kDataMovement, {.name = "slice",
                                    .inputs = {"x", "starts?", "ends?", "items*"},
                                    .attrs = {axes_attr("axes"),
                                              ints("starts"),
                                              ints("ends"),
                                              ints("steps"),
                                              axes_attr("decrease_axes"),
                                              {"starts_items", 0, between(0, kMaxRank)}},
                                    .infer = infer_slice}),
      {.name = "shape",
       .attrs = {{"dtype", "int32", words({"int32", "int64"})}},
       .infer = infer_shape,
       .kind = OpKind::kShape},
      {.name = "full",
       .inputs = {"shape?", "value?", "dims*"},
       .attrs = {ints("shape"), dtype_spec("float32"), number_attr("value", 0)},
       .infer = infer_full,
       .kind = OpKind::kShape},
      {.name = "range",
       .inputs = {"start", "limit", "step"},
       .infer = infer_range,
       .kind = OpKind::kShape,
       .trainable = false},
      moves(OpKind::kDataMovement, {.name = "reorder",
                                    .attrs = {{"to", "channels_last", words({"plain", "channels_last"})}},
                                    .infer = infer_reorder,
                                    .trainable = false}),
  };
}

}  // namespace octet::ops
