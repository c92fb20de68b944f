#include <algorithm>
#include <cmath>

#include "formats/onnx/rows.h"

// Convolution, matrix products, normalisation, activation functions, arithmetic.
namespace octet::onnx {

namespace {

ValueId number(Reader& r, double value, DType dtype = DType::kFloat32) {
  return r.add(Tensor::scalar(value).cast(dtype));
}

// The same inputs under another name.
void read_plain(Reader& r, const ReadRow& row) {
  r.result(r.emit(std::string(row.octet), r.inputs()));
}

// Before opset 7 a second operand is broadcast only when asked, from an axis on.
Attrs broadcast_attrs(Reader& r) {
  if (r.opset() >= 7 || r.integer("broadcast", 0) == 0 || !r.find("axis")) return {};
  return {{"axis", r.integer("axis")}};
}

void read_binary(Reader& r, const ReadRow& row) {
  r.result(r.emit(std::string(row.octet), {r.in(0), r.in(1)}, broadcast_attrs(r)));
}

void read_swapped(Reader& r, const ReadRow& row) {
  r.result(r.emit(std::string(row.octet), {r.in(1), r.in(0)}));
}

// Max, Min, Sum of any number of operands.
ValueId chain(Reader& r, std::string_view op) {
  ValueId y = r.in(0);
  for (std::size_t i = 1; i < r.input_count(); ++i) y = r.emit(std::string(op), {y, r.in(i)});
  return y;
}

void read_chain(Reader& r, const ReadRow& row) {
  r.result(chain(r, row.octet));
}

void read_mean(Reader& r, const ReadRow&) {
  ValueId sum = chain(r, "add");
  r.result(r.emit("div", {sum, number(r, static_cast<double>(r.input_count()), r.dtype(sum))}));
}

void read_mod(Reader& r, const ReadRow&) {
  r.result(r.emit("mod", {r.in(0), r.in(1)}, {{"truncated", r.integer("fmod", 0) != 0}}));
}

// The exponent may be of another type; the result has the base's.
void read_pow(Reader& r, const ReadRow&) {
  const DType base = r.dtype(r.in(0)), exponent = r.dtype(r.in(1));
  auto as = [&](ValueId id, DType dtype) {
    return r.dtype(id) == dtype ? id : r.emit("cast", {id}, {{"dtype", std::string(octet::name_of(dtype))}});
  };
  const bool in_floats = base != exponent && exponent == DType::kFloat32;
  const DType common = in_floats ? DType::kFloat32 : base;
  ValueId y = r.emit("pow", {as(r.in(0), common), as(r.in(1), common)}, broadcast_attrs(r));
  r.result(as(y, base));
}

void read_neg(Reader& r, const ReadRow&) {
  r.result(r.emit("scale", {r.in(0)}, {{"scale", -1.0}}));
}

void read_reciprocal(Reader& r, const ReadRow&) {
  r.result(r.emit("div", {number(r, 1, r.dtype(r.in(0))), r.in(0)}));
}

void read_identity(Reader& r, const ReadRow&) {
  r.result(r.in(0));
}

void read_leaky_relu(Reader& r, const ReadRow&) {
  r.result(r.emit("leaky_relu", {r.in(0)}, {{"alpha", r.real("alpha", 0.01f)}}));
}

// Before opset 7 a slope of several numbers stands at the channels.
void read_prelu(Reader& r, const ReadRow&) {
  ValueId slope = r.in(1);
  if (r.opset() < 7 && r.has_rank(r.in(0)) && r.rank(slope) == 1 && r.rank(r.in(0)) > 2) {
    Ints shape(r.rank(r.in(0)) - 1, 1);
    shape[0] = -1;
    slope = r.emit("reshape", {slope}, {{"shape", shape}});
  }
  r.result(r.emit("prelu", {r.in(0), slope}));
}

void read_hard_sigmoid(Reader& r, const ReadRow&) {
  r.result(r.emit("hard_sigmoid", {r.in(0)},
                  {{"slope", r.real("alpha", 0.2f)}, {"offset", r.real("beta", 0.5f)}}));
}

void read_elu(Reader& r, const ReadRow&) {
  r.result(r.emit("elu", {r.in(0)}, {{"alpha", r.real("alpha", 1)}}));
}

void read_selu(Reader& r, const ReadRow&) {
  ValueId y = r.emit("elu", {r.in(0)}, {{"alpha", r.real("alpha", 1.67326319217681884765625)}});
  r.result(r.emit("scale", {y}, {{"scale", r.real("gamma", 1.05070102214813232421875)}}));
}

void read_gelu(Reader& r, const ReadRow&) {
  const std::string how = r.text("approximate", "none");
  if (how != "none" && how != "tanh") fail("approximate is {}, expected none or tanh", how);
  r.result(r.emit("gelu", {r.in(0)}, {{"approximate", how == "tanh"}}));
}

void read_swish(Reader& r, const ReadRow&) {
  r.result(r.emit("swish", {r.in(0)}, {{"beta", r.real("alpha", 1)}}));
}

// Bounds are attributes, from opset 11 on inputs. Where they are constants they become what epilogues take.
void read_clip(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  std::vector<ValueId> inputs = {x, r.maybe(1), r.maybe(2)};
  Attrs attrs;
  constexpr const char* kNames[] = {"min", "max"};
  for (std::size_t i : {0, 1}) {
    const Tensor* bound = r.constant(inputs[i + 1]);
    if (!bound && r.find(kNames[i])) {
      attrs[kNames[i]] = r.real(kNames[i], 0);
    } else if (bound && bound->dtype() == DType::kFloat32 && bound->size() == 1) {
      attrs[kNames[i]] = static_cast<double>(bound->aligned().data<float>()[0]);
      inputs[i + 1] = kNoValue;
    }
  }
  const bool all_known = inputs[1] == kNoValue && inputs[2] == kNoValue;
  while (inputs.back() == kNoValue) inputs.pop_back();
  if (attrs.empty() && all_known) return r.result(x);
  const bool from_zero = attrs.contains("min") && std::get<double>(attrs["min"]) == 0;
  if (all_known && from_zero && r.dtype(x) == DType::kFloat32) {
    constexpr double kLargest = 3.4e38;
    const bool open = !attrs.contains("max") || std::get<double>(attrs["max"]) > kLargest;
    if (open) return r.result(r.emit("relu", {x}));
    if (double max = std::get<double>(attrs["max"]); max > 0)
      return r.result(r.emit("relu6", {x}, {{"threshold", max}}));
  }
  r.result(r.emit("clip", inputs, attrs));
}

void read_cast(Reader& r, const ReadRow&) {
  const DType to = r.dtype_attribute("to");
  const auto type = static_cast<ElementType>(r.integer("to"));
  if (type == ElementType::kInt4 || type == ElementType::kUInt4)
    fail("a cast to {} is not supported", name_of(type));
  if (r.has_rank(r.in(0)) && r.dtype(r.in(0)) == to) return r.result(r.in(0));
  r.result(r.emit("cast", {r.in(0)}, {{"dtype", std::string(octet::name_of(to))}}));
}

void read_cast_like(Reader& r, const ReadRow&) {
  if (r.dtype(r.in(0)) == r.dtype(r.in(1))) return r.result(r.in(0));
  r.result(r.emit("cast", {r.in(0)}, {{"dtype", std::string(octet::name_of(r.dtype(r.in(1))))}}));
}

ValueId add_bias(Reader& r, ValueId y, std::size_t i, double beta) {
  if (!r.has(i) || beta == 0) return y;
  ValueId bias = r.in(i);
  if (beta != 1) bias = r.emit("scale", {bias}, {{"scale", beta}});
  return r.emit("add", {y, bias});
}

void read_gemm(Reader& r, const ReadRow&) {
  ValueId y = r.emit("matmul", {r.in(0), r.in(1)},
                     {{"transpose_x", r.integer("transA", 0) != 0},
                      {"transpose_y", r.integer("transB", 0) != 0},
                      {"alpha", r.real("alpha", 1)}});
  r.result(add_bias(r, y, 2, r.real("beta", 1)));
}

// Convolution along one dimension is one of a single row.
ValueId with_row(Reader& r, ValueId id) {
  return r.emit("unsqueeze", {id}, {{"axes", Ints{2}}});
}

void read_conv(Reader& r, const ReadRow& row) {
  const bool is_line = r.rank(r.in(1)) == 3;
  if (!is_line && r.rank(r.in(1)) != 4)
    fail("its weights have shape {}; octet convolves along one or two dimensions",
         to_string(r.shape(r.in(1))));
  std::vector<ValueId> inputs = {r.in(0), r.in(1)};
  if (is_line) inputs = {with_row(r, inputs[0]), with_row(r, inputs[1])};
  if (r.has(2)) inputs.push_back(r.in(2));
  Window window = read_window(r, {r.shape(inputs[1]).begin() + 2, r.shape(inputs[1]).end()}, is_line);
  Attrs attrs = row.octet == "conv2d" ? pads_of(r, window, r.in(0)) : transposed_pads_of(r, window, r.in(0));
  attrs["strides"] = window.strides;
  attrs["dilations"] = window.dilations;
  attrs["groups"] = r.integer("group", 1);
  ValueId y = r.emit(std::string(row.octet), inputs, attrs);
  r.result(is_line ? r.emit("squeeze", {y}, {{"axes", Ints{2}}}) : y);
}

void read_batch_norm(Reader& r, const ReadRow&) {
  if (r.integer("training_mode", 0) != 0) fail("training_mode is 1; octet takes the model's statistics");
  if (r.opset() < 9 && r.integer("spatial", 1) == 0)
    fail("spatial is 0: statistics for each element, not each channel");
  r.result(r.emit("batch_norm", {r.in(0), r.in(1), r.in(2), r.in(3), r.in(4)},
                  {{"epsilon", r.real("epsilon", 1e-5f)}}));
}

Ints axes_from(std::int64_t first, std::size_t rank) {
  Ints axes;
  for (auto i = first; i < static_cast<std::int64_t>(rank); ++i) axes.push_back(i);
  return axes;
}

// 1 / sqrt(mean(x*x) + epsilon) over the axes.
ValueId inverse_norm(Reader& r, ValueId x, const Ints& axes, double epsilon) {
  ValueId mean = r.emit("reduce_mean", {r.emit("mul", {x, x})}, {{"axes", axes}, {"keepdims", true}});
  ValueId root = r.emit("sqrt", {r.emit("scale", {mean}, {{"bias", epsilon}})});
  return r.emit("div", {number(r, 1), root});
}

// layer_norm's scale and bias are flat, and as many as there are numbers to normalise.
ValueId flat(Reader& r, ValueId id) {
  return id == kNoValue || r.rank(id) == 1 ? id : r.emit("reshape", {id}, {{"shape", Ints{-1}}});
}

void read_layer_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const std::int64_t axis = Reader::axis(r.integer("axis", -1), r.rank(x));
  const double epsilon = r.real("epsilon", 1e-5f);
  const Shape normalised(r.shape(x).begin() + axis, r.shape(x).end());
  if (r.shape(r.in(1)) == normalised && (!r.has(2) || r.shape(r.in(2)) == normalised)) {
    std::vector<ValueId> inputs = {x, flat(r, r.in(1))};
    if (r.has(2)) inputs.push_back(flat(r, r.in(2)));
    r.result(r.emit("layer_norm", inputs, {{"epsilon", epsilon}, {"begin_norm_axis", axis}}));
    if (!r.wants(1) && !r.wants(2)) return;
  }
  const Ints axes = axes_from(axis, r.rank(x));
  ValueId mean = r.emit("reduce_mean", {x}, {{"axes", axes}, {"keepdims", true}});
  ValueId centred = r.emit("sub", {x, mean});
  ValueId inverse = inverse_norm(r, centred, axes, epsilon);
  if (r.results().empty())
    r.result(add_bias(r, r.emit("mul", {r.emit("mul", {centred, inverse}), r.in(1)}), 2, 1));
  r.result(mean, 1);
  r.result(inverse, 2);
}

void read_rms_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const Ints axes = axes_from(Reader::axis(r.integer("axis", -1), r.rank(x)), r.rank(x));
  ValueId normed = r.emit("mul", {x, inverse_norm(r, x, axes, r.real("epsilon", 1e-5f))});
  r.result(r.emit("mul", {normed, r.in(1)}));
}

// Statistics of each image and group of channels; scale and bias are one a channel.
void normalise_groups(Reader& r, ValueId groups_of_x, ValueId x, ValueId scale, ValueId bias) {
  const Ints axes = axes_from(2, r.rank(groups_of_x));
  ValueId mean = r.emit("reduce_mean", {groups_of_x}, {{"axes", axes}, {"keepdims", true}});
  ValueId centred = r.emit("sub", {groups_of_x, mean});
  ValueId normed = r.emit("mul", {centred, inverse_norm(r, centred, axes, r.real("epsilon", 1e-5f))});
  if (groups_of_x != x) normed = r.emit("reshape", {normed, r.emit("shape", {x}, {{"dtype", "int64"}})});
  Ints channels(r.rank(x) - 1, 1);
  channels[0] = -1;
  ValueId scaled = r.emit("mul", {normed, r.emit("reshape", {scale}, {{"shape", channels}})});
  r.result(r.emit("add", {scaled, r.emit("reshape", {bias}, {{"shape", channels}})}));
}

void read_instance_norm(Reader& r, const ReadRow&) {
  normalise_groups(r, r.in(0), r.in(0), r.in(1), r.in(2));
}

void read_group_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const std::int64_t groups = r.integer("num_groups");
  if (groups < 1) fail("num_groups is {}", groups);
  if (r.rank(x) < 2) fail("x has shape {}, expected channels", to_string(r.shape(x)));
  ValueId scale = r.in(1), bias = r.in(2);
  if (r.opset() < 21) {  // one a group
    const std::int64_t channels = r.shape(x)[1];
    if (channels == kUnknown || channels % groups != 0)
      fail("x has {} channels for {} groups", channels, groups);
    auto repeated = [&](ValueId id) {
      ValueId column = r.emit("reshape", {id}, {{"shape", Ints{-1, 1}}});
      ValueId filled =
          r.emit("add", {column, r.add(Tensor::of<float>(
                                     {1, channels / groups},
                                     std::vector<float>(static_cast<std::size_t>(channels / groups), 0.f)))});
      return r.emit("reshape", {filled}, {{"shape", Ints{-1}}});
    };
    scale = repeated(scale);
    bias = repeated(bias);
  }
  normalise_groups(r, r.emit("reshape", {x}, {{"shape", Ints{0, groups, -1}}}), x, scale, bias);
}

void read_lrn(Reader& r, const ReadRow&) {
  r.result(r.emit("lrn", {r.in(0)},
                  {{"size", r.integer("size")},
                   {"alpha", r.real("alpha", 1e-4f)},
                   {"beta", r.real("beta", 0.75)},
                   {"bias", r.real("bias", 1)}}));
}

void read_lp_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const Ints axes = {Reader::axis(r.integer("axis", -1), r.rank(x))};
  const std::int64_t p = r.integer("p", 2);
  if (p != 1 && p != 2) fail("p is {}, expected 1 or 2", p);
  ValueId terms = p == 1 ? r.emit("abs", {x}) : r.emit("mul", {x, x});
  ValueId norm = r.emit("reduce_sum", {terms}, {{"axes", axes}, {"keepdims", true}});
  if (p == 2) norm = r.emit("sqrt", {norm});
  // Nothing divided by nothing is nothing.
  ValueId zero = number(r, 0);
  ValueId is_zero = r.emit("equal", {norm, zero});
  r.result(r.emit("div", {x, r.emit("where", {is_zero, number(r, 1), norm})}));
}

// Before opset 13 all dimensions from the axis on are one.
template <class Work>
void along_axis(Reader& r, Work work) {
  const ValueId x = r.in(0);
  if (r.opset() >= 13) return r.result(work(x, r.integer("axis", -1)));
  const std::int64_t axis = Reader::axis(r.integer("axis", 1), r.rank(x));
  const Shape& shape = r.shape(x);
  if (std::all_of(shape.begin() + axis + 1, shape.end(), [](std::int64_t size) { return size == 1; }))
    return r.result(work(x, axis));
  ValueId joined = r.emit("flatten", {x}, {{"start_axis", axis}, {"stop_axis", std::int64_t{-1}}});
  r.result(r.emit("reshape", {work(joined, -1), r.emit("shape", {x}, {{"dtype", "int64"}})}));
}

void read_softmax(Reader& r, const ReadRow&) {
  along_axis(r, [&](ValueId x, std::int64_t axis) { return r.emit("softmax", {x}, {{"axis", axis}}); });
}

void read_log_softmax(Reader& r, const ReadRow&) {
  along_axis(r, [&](ValueId x, std::int64_t axis) {
    const Attrs over = {{"axes", Ints{axis}}, {"keepdims", true}};
    ValueId shifted = r.emit("sub", {x, r.emit("reduce_max", {x}, over)});
    ValueId sum = r.emit("reduce_sum", {r.emit("exp", {shifted})}, over);
    return r.emit("sub", {shifted, r.emit("log", {sum})});
  });
}

void read_dropout(Reader& r, const ReadRow&) {
  if (r.has(2)) {
    const Tensor* training = r.constant(r.in(2));
    if (!training || training->dtype() != DType::kBool || training->size() != 1 || training->data<bool>()[0])
      fail("training_mode is not false; octet runs models at inference");
  }
  r.result(r.in(0));
  if (r.wants(1))
    r.result(r.emit("full", {r.emit("shape", {r.in(0)}, {{"dtype", "int64"}})},
                    {{"dtype", r.opset() < 10 ? "float32" : "bool"}, {"value", 1.0}}),
             1);
}

void read_einsum(Reader& r, const ReadRow&) {
  r.result(r.emit("einsum", r.inputs(), {{"equation", r.text("equation", "")}}));
}

}  // namespace

std::vector<ReadRow> numeric_rows() {
  return {
      {"Conv", 1, "conv2d", read_conv, "along one or two dimensions"},
      {"ConvTranspose", 1, "conv2d_transpose", read_conv, "along one or two dimensions"},
      {"Gemm", 1, "matmul", read_gemm},
      {"MatMul", 1, "matmul", read_plain},
      {"Einsum", 12, "einsum", read_einsum},
      {"BatchNormalization", 1, "batch_norm", read_batch_norm, "not with training_mode or spatial 0"},
      {"LayerNormalization", 17, "layer_norm", read_layer_norm},
      {"RMSNormalization", 23, "", read_rms_norm},
      {"InstanceNormalization", 1, "", read_instance_norm},
      {"GroupNormalization", 18, "", read_group_norm},
      {"LRN", 1, "lrn", read_lrn},
      {"LpNormalization", 1, "", read_lp_norm},
      {"Softmax", 1, "softmax", read_softmax},
      {"LogSoftmax", 1, "", read_log_softmax},
      {"Dropout", 1, "", read_dropout, "not with training_mode"},
      {"Relu", 1, "relu", read_plain},
      {"LeakyRelu", 1, "leaky_relu", read_leaky_relu},
      {"PRelu", 1, "prelu", read_prelu},
      {"Sigmoid", 1, "sigmoid", read_plain},
      {"HardSigmoid", 1, "hard_sigmoid", read_hard_sigmoid},
      {"HardSwish", 14, "hard_swish", read_plain},
      {"Clip", 1, "clip", read_clip},
      {"Elu", 1, "elu", read_elu},
      {"Selu", 1, "elu", read_selu},
      {"Softplus", 1, "softplus", read_plain},
      {"Mish", 18, "mish", read_plain},
      {"Gelu", 20, "gelu", read_gelu},
      {"Swish", 24, "swish", read_swish},
      {"Erf", 9, "erf", read_plain},
      {"Tanh", 1, "tanh", read_plain},
      {"Exp", 1, "exp", read_plain},
      {"Log", 1, "log", read_plain},
      {"Sqrt", 1, "sqrt", read_plain},
      {"Reciprocal", 1, "div", read_reciprocal},
      {"Pow", 1, "pow", read_pow},
      {"Floor", 1, "floor", read_plain},
      {"Ceil", 1, "ceil", read_plain},
      {"Round", 11, "round", read_plain},
      {"Sign", 9, "sign", read_plain},
      {"Neg", 1, "scale", read_neg},
      {"Abs", 1, "abs", read_plain},
      {"Add", 1, "add", read_binary},
      {"Sub", 1, "sub", read_binary},
      {"Mul", 1, "mul", read_binary},
      {"Div", 1, "div", read_binary},
      {"Mod", 10, "mod", read_mod},
      {"Min", 1, "min", read_chain},
      {"Max", 1, "max", read_chain},
      {"Sum", 1, "add", read_chain},
      {"Mean", 1, "add", read_mean},
      {"Identity", 1, "identity", read_identity},
      {"Cast", 1, "cast", read_cast},
      {"CastLike", 15, "cast", read_cast_like},
      {"Equal", 1, "equal", read_binary},
      {"Less", 1, "less", read_binary},
      {"LessOrEqual", 12, "less_equal", read_binary},
      {"Greater", 1, "less", read_swapped},
      {"GreaterOrEqual", 12, "less_equal", read_swapped},
      {"And", 1, "logical_and", read_binary},
      {"Or", 1, "logical_or", read_binary},
      {"Xor", 1, "logical_xor", read_binary},
      {"Not", 1, "logical_not", read_plain},
      {"Where", 9, "where", read_plain},
  };
}

}  // namespace octet::onnx
