#include <algorithm>
#include <array>

#include "formats/onnx/writer.h"

// Convolution, matrix products, normalisation, activation functions, arithmetic, windows.
namespace octet::onnx {

namespace {

template <class T>
T get(const Writer& w, std::string_view name) {
  return attr<T>(w.node(), name);
}

// The same op under ONNX's name, with all inputs.
void write_plain(Writer& w) {
  struct Name {
    std::string_view octet;
    const char* onnx;
  };
  static constexpr Name kNames[] = {
      {"relu", "Relu"},   {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},         {"exp", "Exp"},
      {"sqrt", "Sqrt"},   {"abs", "Abs"},           {"softplus", "Softplus"}, {"erf", "Erf"},
      {"log", "Log"},     {"sign", "Sign"},         {"floor", "Floor"},       {"ceil", "Ceil"},
      {"round", "Round"}, {"identity", "Identity"}, {"observe", "Identity"},  {"logical_not", "Not"},
      {"where", "Where"}, {"range", "Range"},
  };
  for (const Name& name : kNames) {
    if (name.octet != w.node().op) continue;
    std::vector<std::string> inputs;
    const std::size_t count = w.node().op == "observe" ? 1 : w.node().inputs.size();
    for (std::size_t i = 0; i < count; ++i) inputs.push_back(w.in(i));
    return w.emit_to(name.onnx, inputs, {w.out()});
  }
  check(false, "every plain writer has a name");
}

// The second operand at octet's `axis`: ones behind its dimensions.
std::string aligned(Writer& w, std::size_t i, std::int64_t axis, std::size_t other) {
  const std::size_t rank = w.rank(i), full = w.rank(other);
  if (axis < 0 || rank + static_cast<std::size_t>(axis) >= full || rank == 0) return w.in(i);
  Ints axes;
  for (std::size_t k = rank; k < full - static_cast<std::size_t>(axis); ++k)
    axes.push_back(static_cast<std::int64_t>(k));
  return w.emit("Unsqueeze", {w.in(i), w.list(axes)});
}

void write_binary(Writer& w) {
  struct Name {
    std::string_view octet;
    const char* onnx;
  };
  static constexpr Name kNames[] = {
      {"add", "Add"},         {"sub", "Sub"},       {"mul", "Mul"},         {"div", "Div"},
      {"max", "Max"},         {"min", "Min"},       {"pow", "Pow"},         {"prelu", "PRelu"},
      {"equal", "Equal"},     {"less", "Less"},     {"mod", "Mod"},         {"less_equal", "LessOrEqual"},
      {"logical_and", "And"}, {"logical_or", "Or"}, {"logical_xor", "Xor"},
  };
  const std::int64_t axis = has_attr(spec_of(w.node()), "axis") ? get<std::int64_t>(w, "axis") : -1;
  std::string x = w.in(0), y = w.in(1);
  if (axis >= 0) {
    if (w.rank(0) >= w.rank(1))
      y = aligned(w, 1, axis, 0);
    else
      x = aligned(w, 0, axis, 1);
  }
  WrittenAttrs attrs;
  if (w.node().op == "mod" && get<bool>(w, "truncated")) attrs = {{"fmod", std::int64_t{1}}};
  for (const Name& name : kNames)
    if (name.octet == w.node().op) return w.emit_to(name.onnx, {x, y}, {w.out()}, attrs);
  check(false, "every binary writer has a name");
}

Ints onnx_pads(const Ints& pads) {
  return {pads[0], pads[2], pads[1], pads[3]};
}

// pads, or auto_pad.
void add_pads(Writer& w, WrittenAttrs& attrs) {
  const std::string how = get<std::string>(w, "auto_pad");
  if (how == "same_upper" || how == "same_lower") {
    attrs.emplace_back("auto_pad", how == "same_upper" ? "SAME_UPPER" : "SAME_LOWER");
  } else if (how == "same") {
    if (has_attr(spec_of(w.node()), "dilations") && get<Ints>(w, "dilations") != Ints{1, 1})
      fail("auto_pad \"same\" counts dilations as 1, which ONNX does not");
    attrs.emplace_back("auto_pad", "SAME_UPPER");
  } else {
    attrs.emplace_back("pads", how == "valid" ? Ints{0, 0, 0, 0} : onnx_pads(get<Ints>(w, "paddings")));
  }
}

void write_conv(Writer& w) {
  const bool transposed = w.node().op == "conv2d_transpose";
  const Shape& weight = w.value(1).shape;
  if (weight.size() != 4) fail("its weights have shape {}", to_string(weight));
  WrittenAttrs attrs = {{"kernel_shape", Ints{weight[2], weight[3]}},
                        {"strides", get<Ints>(w, "strides")},
                        {"dilations", get<Ints>(w, "dilations")},
                        {"group", get<std::int64_t>(w, "groups")}};
  add_pads(w, attrs);
  if (transposed) {
    if (!get<Ints>(w, "output_size").empty())
      fail("ONNX can't be told an output_size without other paddings");
    if (const Ints extra = get<Ints>(w, "output_padding"); !extra.empty())
      attrs.emplace_back("output_padding", extra);
  }
  std::string bias = integer_bias(w);
  if (bias.empty()) bias = w.in("bias");
  emit_convolution(w, transposed ? "ConvTranspose" : "Conv", {w.in("x"), w.in("weight"), bias}, attrs);
}

std::string transposed(Writer& w, std::size_t i) {
  const std::size_t rank = w.rank(i);
  if (rank < 2) return w.in(i);
  Ints perm;
  for (std::size_t k = 0; k < rank; ++k) perm.push_back(static_cast<std::int64_t>(k));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return w.emit("Transpose", {w.in(i)}, {{"perm", perm}});
}

void write_matmul(Writer& w) {
  const bool x = get<bool>(w, "transpose_x"), y = get<bool>(w, "transpose_y");
  const double alpha = get<double>(w, "alpha");
  const bool matrices =
      w.has_rank(w.node().inputs[0]) && w.has_rank(w.node().inputs[1]) && w.rank(0) == 2 && w.rank(1) == 2;
  if (matrices && (x || y || alpha != 1) && w.value(0).dtype == DType::kFloat32)
    return w.emit_to("Gemm", {w.in(0), w.in(1), w.in("bias")}, {w.out()},
                     {{"alpha", alpha}, {"transA", std::int64_t{x}}, {"transB", std::int64_t{y}}});
  const std::vector<std::string> operands = {x ? transposed(w, 0) : w.in(0), y ? transposed(w, 1) : w.in(1)};
  if (alpha == 1 && !w.has("bias")) return w.emit_to("MatMul", operands, {w.out()});
  std::string product = w.emit("MatMul", operands);
  if (alpha != 1 && !w.has("bias")) return w.emit_to("Mul", {product, w.number(alpha)}, {w.out()});
  if (alpha != 1) product = w.emit("Mul", {product, w.number(alpha)});
  w.emit_to("Add", {product, w.in("bias")}, {w.out()});
}

// x as a matrix, then the product, then x's first dimensions again.
void write_matmul_flat(Writer& w) {
  const auto columns = get<std::int64_t>(w, "x_num_col_dims");
  if (get<std::int64_t>(w, "y_num_col_dims") != 1 || w.rank(1) != 2) fail("its right side is no matrix");
  std::string product;
  if (columns == static_cast<std::int64_t>(w.rank(0)) - 1) {
    product = w.emit("MatMul", {w.in(0), w.in(1)});
  } else {
    product = w.emit("MatMul", {w.emit("Flatten", {w.in(0)}, {{"axis", columns}}), w.in(1)});
    if (columns > 1) {
      std::string front =
          w.emit("Slice", {w.emit("Shape", {w.in(0)}), w.list({0}), w.list({columns}), w.list({0})});
      product =
          w.emit("Reshape", {product, w.emit("Concat", {front, w.list({-1})}, {{"axis", std::int64_t{0}}})});
    }
  }
  if (w.has("bias")) return w.emit_to("Add", {product, w.in("bias")}, {w.out()});
  w.emit_to("Identity", {product}, {w.out()});
}

void write_batch_norm(Writer& w) {
  w.emit_to("BatchNormalization", {w.in(0), w.in(1), w.in(2), w.in(3), w.in(4)}, {w.out()},
            {{"epsilon", get<double>(w, "epsilon")}});
}

// axes as an attribute, or from `since` on as an input.
std::string reduce(Writer& w, const char* type, const std::string& x, const Ints& axes, bool keepdims,
                   int since) {
  WrittenAttrs attrs = {{"keepdims", std::int64_t{keepdims}}};
  if (w.opset() >= since) return w.emit(type, {x, w.list(axes)}, attrs);
  attrs.emplace_back("axes", axes);
  return w.emit(type, {x}, attrs);
}

void write_layer_norm(Writer& w) {
  if (!get<bool>(w, "centered")) fail("RMS normalisation needs opset 23");
  if (w.node().outputs.size() > 1) fail("its mean and deviation are read");
  const std::size_t rank = w.rank(0);
  const auto axis = get<std::int64_t>(w, "begin_norm_axis");
  const double epsilon = get<double>(w, "epsilon");
  const Shape normalised(w.value(0).shape.begin() + axis, w.value(0).shape.end());
  auto shaped = [&](std::size_t i) -> std::string {
    if (i >= w.node().inputs.size() || w.node().inputs[i] == kNoValue) return "";
    if (normalised.size() == 1) return w.in(i);
    return w.emit("Reshape", {w.in(i), w.list(normalised)});
  };
  std::string scale = shaped(1), bias = shaped(2);
  if (w.opset() >= 17 && (!scale.empty() || is_known(normalised))) {
    if (scale.empty()) {
      Tensor ones(DType::kFloat32, normalised);
      for (float& one : ones.mutable_data<float>()) one = 1;
      scale = w.constant(ones);
    }
    return w.emit_to("LayerNormalization", {w.in(0), scale, bias}, {w.out()},
                     {{"axis", axis}, {"epsilon", epsilon}});
  }
  Ints axes;
  for (auto i = axis; i < static_cast<std::int64_t>(rank); ++i) axes.push_back(i);
  std::string centred = w.emit("Sub", {w.in(0), reduce(w, "ReduceMean", w.in(0), axes, true, 18)});
  std::string variance = reduce(w, "ReduceMean", w.emit("Mul", {centred, centred}), axes, true, 18);
  std::string y = w.emit("Div", {centred, w.emit("Sqrt", {w.emit("Add", {variance, w.number(epsilon)})})});
  if (!scale.empty()) y = w.emit("Mul", {y, scale});
  if (!bias.empty()) y = w.emit("Add", {y, bias});
  w.emit_to("Identity", {y}, {w.out()});
}

void write_softmax(Writer& w) {
  w.emit_to(w.node().op == "softmax" ? "Softmax" : "LogSoftmax", {w.in()}, {w.out()},
            {{"axis", get<std::int64_t>(w, "axis")}});
}

// InstanceNormalization, of groups by way of another shape; older opsets have nothing else.
void write_group_norm(Writer& w) {
  const auto groups = get<std::int64_t>(w, "groups");
  const Shape& x = w.value(0).shape;
  const std::int64_t channels = x.size() > 1 ? x[1] : kUnknown, parts = groups == 0 ? channels : groups;
  if (channels == kUnknown && !(w.has("scale") && w.has("bias"))) fail("the channels of x are not known");
  auto filled = [&](std::int64_t count, float value) {
    return w.constant(Tensor::of<float>({count}, std::vector<float>(static_cast<std::size_t>(count), value)));
  };
  const WrittenAttrs attrs = {{"epsilon", get<double>(w, "epsilon")}};
  const std::string scale = w.has("scale") ? w.in(1) : filled(channels, 1),
                    bias = w.has("bias") ? w.in(2) : filled(channels, 0);
  if (groups == 0) return w.emit_to("InstanceNormalization", {w.in(0), scale, bias}, {w.out()}, attrs);
  std::string joined = w.emit("Reshape", {w.in(0), w.list({0, parts, -1})});
  std::string normed = w.emit("InstanceNormalization", {joined, filled(parts, 1), filled(parts, 0)}, attrs);
  std::string y = w.emit("Reshape", {normed, w.emit("Shape", {w.in(0)})});
  Ints shape(x.size() - 1, 1);
  shape[0] = -1;
  std::string scaled = w.emit("Mul", {y, w.emit("Reshape", {scale, w.list(shape)})});
  w.emit_to("Add", {scaled, w.emit("Reshape", {bias, w.list(shape)})}, {w.out()});
}

void write_lrn(Writer& w) {
  w.emit_to("LRN", {w.in()}, {w.out()},
            {{"size", get<std::int64_t>(w, "size")},
             {"alpha", get<double>(w, "alpha")},
             {"beta", get<double>(w, "beta")},
             {"bias", get<double>(w, "bias")}});
}

// strides, dilations and pads of any number of dimensions.
WrittenAttrs nd_attrs(Writer& w) {
  WrittenAttrs attrs;
  for (const char* name : {"strides", "dilations"})
    if (const Ints list = get<Ints>(w, name); !list.empty()) attrs.emplace_back(name, list);
  const std::string how = get<std::string>(w, "auto_pad");
  if (how == "same") fail("auto_pad \"same\" counts dilations as 1, which ONNX does not");
  if (how == "same_upper" || how == "same_lower")
    attrs.emplace_back("auto_pad", how == "same_upper" ? "SAME_UPPER" : "SAME_LOWER");
  const Ints pairs = get<Ints>(w, "paddings");
  Ints pads(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) pads[i / 2 + (i % 2) * (pairs.size() / 2)] = pairs[i];
  if (how == "explicit" && !pads.empty()) attrs.emplace_back("pads", pads);
  return attrs;
}

void write_conv_nd(Writer& w) {
  WrittenAttrs attrs = nd_attrs(w);
  attrs.emplace_back("group", get<std::int64_t>(w, "groups"));
  const bool transposed = w.node().op == "conv_nd_transpose";
  if (transposed)
    for (auto [octet, onnx] :
         {std::pair{"output_padding", "output_padding"}, {"output_size", "output_shape"}})
      if (const Ints list = get<Ints>(w, octet); !list.empty()) attrs.emplace_back(onnx, list);
  w.emit_to(transposed ? "ConvTranspose" : "Conv", {w.in("x"), w.in("weight"), w.in("bias")}, {w.out()},
            attrs);
}

void write_pool_nd(Writer& w) {
  WrittenAttrs attrs = nd_attrs(w);
  const std::string kind = get<std::string>(w, "type");
  attrs.emplace_back("kernel_shape", get<Ints>(w, "kernel"));
  const bool dilated = std::ranges::any_of(get<Ints>(w, "dilations"), [](std::int64_t d) { return d != 1; });
  if (kind == "lp" && (dilated || get<bool>(w, "ceil_mode")) && w.opset() < 18)
    fail("LpPool with dilations or ceil_mode needs opset 18");
  if (kind == "avg" && dilated && w.opset() < 19) fail("AveragePool with dilations needs opset 19");
  if (!dilated) std::erase_if(attrs, [](const auto& attr) { return attr.first == "dilations"; });
  if (kind != "lp" || w.opset() >= 18)
    attrs.emplace_back("ceil_mode", std::int64_t{get<bool>(w, "ceil_mode")});
  if (kind == "avg") attrs.emplace_back("count_include_pad", std::int64_t{!get<bool>(w, "exclusive")});
  if (kind == "lp") attrs.emplace_back("p", get<std::int64_t>(w, "p"));
  if (get<bool>(w, "column_major")) attrs.emplace_back("storage_order", std::int64_t{1});
  w.emit_to(kind == "max"   ? "MaxPool"
            : kind == "avg" ? "AveragePool"
                            : "LpPool",
            {w.in()}, {w.out(0), w.out(1)}, attrs);
}

void write_grid_sample(Writer& w) {
  if (w.opset() < 16) fail("GridSample needs opset 16");
  std::string mode = get<std::string>(w, "mode");
  if (w.opset() < 20 && mode != "nearest") mode = mode == "linear" ? "bilinear" : "bicubic";
  w.emit_to("GridSample", {w.in(0), w.in(1)}, {w.out()},
            {{"mode", mode},
             {"padding_mode", get<std::string>(w, "padding")},
             {"align_corners", std::int64_t{get<bool>(w, "align_corners")}}});
}

void write_roi_align(Writer& w) {
  if (w.opset() < 16 && get<bool>(w, "half_pixel")) fail("RoiAlign with half_pixel needs opset 16");
  WrittenAttrs attrs = {{"mode", get<std::string>(w, "mode")},
                        {"output_height", get<std::int64_t>(w, "out_h")},
                        {"output_width", get<std::int64_t>(w, "out_w")},
                        {"sampling_ratio", get<std::int64_t>(w, "sampling_ratio")},
                        {"spatial_scale", get<double>(w, "scale")}};
  if (w.opset() >= 16)
    attrs.emplace_back("coordinate_transformation_mode",
                       get<bool>(w, "half_pixel") ? "half_pixel" : "output_half_pixel");
  w.emit_to("RoiAlign", {w.in(0), w.in(1), w.in(2)}, {w.out()}, attrs);
}

void write_nms(Writer& w) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < w.node().inputs.size(); ++i) inputs.push_back(w.in(i));
  w.emit_to("NonMaxSuppression", inputs, {w.out()},
            {{"center_point_box", std::int64_t{get<bool>(w, "centered")}}});
}

void write_relu6(Writer& w) {
  w.emit_to("Clip", {w.in(), w.number(0), w.number(get<double>(w, "threshold"))}, {w.out()});
}

void write_alpha(Writer& w) {
  w.emit_to(w.node().op == "elu" ? "Elu" : "LeakyRelu", {w.in()}, {w.out()},
            {{"alpha", get<double>(w, "alpha")}});
}

void write_hard_sigmoid(Writer& w) {
  w.emit_to("HardSigmoid", {w.in()}, {w.out()},
            {{"alpha", get<double>(w, "slope")}, {"beta", get<double>(w, "offset")}});
}

void write_hard_swish(Writer& w) {
  const double threshold = get<double>(w, "threshold"), scale = get<double>(w, "scale"),
               offset = get<double>(w, "offset");
  if (w.opset() >= 14 && threshold == 6 && scale == 6 && offset == 3)
    return w.emit_to("HardSwish", {w.in()}, {w.out()});
  std::string clipped =
      w.emit("Clip", {w.emit("Add", {w.in(), w.number(offset)}), w.number(0), w.number(threshold)});
  w.emit_to("Div", {w.emit("Mul", {w.in(), clipped}), w.number(scale)}, {w.out()});
}

void write_swish(Writer& w) {
  const double beta = get<double>(w, "beta");
  std::string scaled = beta == 1 ? w.in() : w.emit("Mul", {w.in(), w.number(beta)});
  w.emit_to("Mul", {w.in(), w.emit("Sigmoid", {scaled})}, {w.out()});
}

void write_mish(Writer& w) {
  if (w.opset() >= 18) return w.emit_to("Mish", {w.in()}, {w.out()});
  w.emit_to("Mul", {w.in(), w.emit("Tanh", {w.emit("Softplus", {w.in()})})}, {w.out()});
}

void write_gelu(Writer& w) {
  const bool approximate = get<bool>(w, "approximate");
  if (w.opset() >= 20)
    return w.emit_to("Gelu", {w.in()}, {w.out()}, {{"approximate", approximate ? "tanh" : "none"}});
  std::string inner;
  if (approximate) {
    std::string cube = w.emit("Mul", {w.emit("Mul", {w.in(), w.in()}), w.in()});
    std::string sum = w.emit("Add", {w.in(), w.emit("Mul", {cube, w.number(0.044715)})});
    inner = w.emit("Tanh", {w.emit("Mul", {sum, w.number(0.7978845608028654)})});
  } else {
    inner = w.emit("Erf", {w.emit("Div", {w.in(), w.number(1.4142135623730951)})});
  }
  std::string half = w.emit("Mul", {w.in(), w.number(0.5)});
  w.emit_to("Mul", {half, w.emit("Add", {inner, w.number(1)})}, {w.out()});
}

void write_clip(Writer& w) {
  std::array<std::string, 2> bounds;
  for (std::size_t i : {0, 1}) {
    const char* name = i == 0 ? "min" : "max";
    const double bound = get<double>(w, name);
    if (w.has(name))
      bounds[i] = w.value(i + 1).shape.empty() ? w.in(i + 1) : w.emit("Reshape", {w.in(i + 1), w.list({})});
    else if (bound > -3.4e38 && bound < 3.4e38)
      bounds[i] = w.number(bound, w.value(0).dtype);
  }
  w.emit_to("Clip", {w.in(0), bounds[0], bounds[1]}, {w.out()});
}

void write_dropout(Writer& w) {
  if (get<std::string>(w, "mode") == "upscale_in_train") return w.emit_to("Identity", {w.in()}, {w.out()});
  w.emit_to("Mul", {w.in(), w.number(1 - get<double>(w, "p"))}, {w.out()});
}

void write_scale(Writer& w) {
  const DType dtype = w.value(0).dtype;
  const double scale = get<double>(w, "scale"), bias = get<double>(w, "bias");
  const bool scales = w.has("scale") || scale != 1, after = get<bool>(w, "bias_after_scale");
  std::string factor =
      !w.has("scale") ? (scales ? w.number(scale, dtype) : "") : w.emit("Reshape", {w.in(1), w.list({})});
  if (w.has("scale") && dtype != DType::kFloat32) fail("a scale from the run, of integers");
  std::string x = w.in();
  if (bias != 0 && !after) x = w.emit("Add", {x, w.number(bias, dtype)});
  if (scales) x = w.emit("Mul", {x, factor});
  if (bias != 0 && after) x = w.emit("Add", {x, w.number(bias, dtype)});
  w.emit_to("Identity", {x}, {w.out()});
}

void write_cast(Writer& w) {
  DType dtype = DType::kFloat32;
  parse_dtype(get<std::string>(w, "dtype"), &dtype);
  w.emit_to("Cast", {w.in()}, {w.out()}, {{"to", static_cast<std::int64_t>(element_type(dtype))}});
}

// Output i of an adaptive pool reads [floor(i*in/out), ceil((i+1)*in/out)): windows of one size only where
// out divides in.
bool write_adaptive(Writer& w, const char* type) {
  const Ints size = get<Ints>(w, "kernel");
  if (size == Ints{1, 1}) {
    w.emit_to(std::string("Global") + type, {w.in()}, {w.out()});
    return true;
  }
  const Shape& x = w.value(0).shape;
  Ints kernel;
  for (std::size_t i : {0, 1}) {
    if (x.size() != 4 || x[i + 2] == kUnknown || x[i + 2] % size[i] != 0)
      fail("an adaptive pool of {} to {}x{} has windows of different sizes, which ONNX has not", to_string(x),
           size[0], size[1]);
    kernel.push_back(x[i + 2] / size[i]);
  }
  w.emit_to(type, {w.in()}, {w.out()}, {{"kernel_shape", kernel}, {"strides", kernel}});
  return true;
}

void write_pool(Writer& w) {
  const std::string kind = get<std::string>(w, "type");
  const char* type = kind == "max" ? "MaxPool" : "AveragePool";
  if (get<bool>(w, "global")) return w.emit_to(std::string("Global") + type, {w.in()}, {w.out()});
  if (get<bool>(w, "adaptive")) return void(write_adaptive(w, type));
  const Ints kernel = get<Ints>(w, "kernel"), strides = get<Ints>(w, "strides");
  WrittenAttrs attrs = {{"kernel_shape", kernel}, {"strides", strides}};
  add_pads(w, attrs);
  if (get<bool>(w, "ceil_mode") && get<std::string>(w, "convention") == "onnx") {
    attrs.emplace_back("ceil_mode", std::int64_t{1});
  } else if (get<bool>(w, "ceil_mode")) {
    const Ints pads = get<Ints>(w, "paddings");
    for (std::size_t i : {0, 1})
      if (pads[2 * i + 1] >= kernel[i] - strides[i] + 1)
        fail("with ceil_mode, ONNX leaves out windows that begin in the padding at the end");
    attrs.emplace_back("ceil_mode", std::int64_t{1});
  }
  if (kind == "avg") attrs.emplace_back("count_include_pad", std::int64_t{!get<bool>(w, "exclusive")});
  w.emit_to(type, {w.in()}, {w.out()}, attrs);
}

// N and C of x, in front of height and width.
std::string with_batch(Writer& w, const std::string& size) {
  std::string front = w.emit("Slice", {w.emit("Shape", {w.in(0)}), w.list({0}), w.list({2}), w.list({0})});
  return w.emit("Concat", {front, size}, {{"axis", std::int64_t{0}}});
}

void write_resize(Writer& w) {
  const bool nearest = get<std::string>(w, "mode") == "nearest", corners = get<bool>(w, "align_corners");
  WrittenAttrs attrs = {{"mode", nearest ? "nearest" : "linear"}};
  const bool half = !nearest && get<std::int64_t>(w, "align_mode") == 0;
  if (const std::string where = get<std::string>(w, "coordinates"); where != "paddle") {
    attrs.emplace_back("coordinate_transformation_mode", where);
    if (nearest) attrs.emplace_back("nearest_mode", get<std::string>(w, "nearest"));
  } else {
    attrs.emplace_back("coordinate_transformation_mode", corners ? "align_corners"
                                                         : half  ? "pytorch_half_pixel"
                                                                 : "asymmetric");
    if (nearest) attrs.emplace_back("nearest_mode", corners ? "round_prefer_ceil" : "floor");
  }
  std::string scales, sizes;
  const auto factors = get<std::vector<double>>(w, "scale");
  if (w.node().inputs.size() > 4 && w.node().inputs[3] != kNoValue) {
    sizes = with_batch(w, w.emit("Concat", {w.as_int64(3), w.as_int64(4)}, {{"axis", std::int64_t{0}}}));
  } else if (w.has("out_size")) {
    sizes = with_batch(w, w.as_int64(1));
  } else if (w.has("scale")) {
    std::string both = w.value(2).constant.size() == 1 || w.value(2).shape == Shape{1}
                           ? w.emit("Concat", {w.in(2), w.in(2)}, {{"axis", std::int64_t{0}}})
                           : w.in(2);
    scales =
        w.emit("Concat", {w.constant(Tensor::of<float>({2}, {1, 1})), both}, {{"axis", std::int64_t{0}}});
  } else if (!factors.empty()) {
    const auto y = static_cast<float>(factors[0]), x = static_cast<float>(factors.back());
    scales = w.constant(Tensor::of<float>({4}, {1, 1, y, x}));
  } else {
    sizes = with_batch(w, w.list({get<std::int64_t>(w, "out_h"), get<std::int64_t>(w, "out_w")}));
  }
  // Between corners Paddle goes by the size, which runtimes disagree about when they are given a factor.
  if (!scales.empty() && corners && get<std::string>(w, "coordinates") == "paddle") {
    const auto as = [](ElementType type) { return WrittenAttrs{{"to", static_cast<std::int64_t>(type)}}; };
    const std::string shape = w.emit("Cast", {w.emit("Shape", {w.in(0)})}, as(ElementType::kFloat));
    sizes = w.emit("Cast", {w.emit("Floor", {w.emit("Mul", {shape, scales})})}, as(ElementType::kInt64));
    scales.clear();
  }
  w.emit_to("Resize", {w.in(0), "", scales, sizes}, {w.out()}, attrs);
}

void write_pad(Writer& w) {
  if (w.has("paddings")) fail("its paddings are computed in the run");
  const std::size_t rank = w.rank(0);
  const Ints pads = get<Ints>(w, "paddings");  // pairs, of the last dimension first
  Ints before(rank, 0), after(rank, 0);
  for (std::size_t i = 0; 2 * i + 1 < pads.size() && i < rank; ++i) {
    before[rank - 1 - i] = pads[2 * i];
    after[rank - 1 - i] = pads[2 * i + 1];
  }
  before.insert(before.end(), after.begin(), after.end());
  const std::string mode = get<std::string>(w, "mode");
  if (mode == "circular" && w.opset() < 19) fail("padding round a circle needs opset 19");
  const char* onnx = mode == "replicate"  ? "edge"
                     : mode == "circular" ? "wrap"
                     : mode == "reflect"  ? "reflect"
                                          : "constant";
  const std::string value = w.has("value") ? w.in(2) : w.number(get<double>(w, "value"), w.value(0).dtype);
  w.emit_to("Pad", {w.in(0), w.list(before), value}, {w.out()}, {{"mode", std::string(onnx)}});
}

}  // namespace

std::vector<WriteRow> numeric_writers() {
  std::vector<WriteRow> rows = {
      {"conv2d", write_conv},
      {"conv2d_transpose", write_conv},
      {"matmul", write_matmul},
      {"matmul_flat", write_matmul_flat},
      {"batch_norm", write_batch_norm},
      {"layer_norm", write_layer_norm},
      {"softmax", write_softmax},
      {"log_softmax", write_softmax},
      {"group_norm", write_group_norm},
      {"lrn", write_lrn},
      {"conv_nd", write_conv_nd},
      {"conv_nd_transpose", write_conv_nd},
      {"pool_nd", write_pool_nd},
      {"grid_sample", write_grid_sample},
      {"roi_align", write_roi_align},
      {"non_max_suppression", write_nms},
      {"relu6", write_relu6},
      {"leaky_relu", write_alpha},
      {"elu", write_alpha},
      {"hard_sigmoid", write_hard_sigmoid},
      {"hard_swish", write_hard_swish},
      {"swish", write_swish},
      {"mish", write_mish},
      {"gelu", write_gelu},
      {"clip", write_clip},
      {"dropout", write_dropout},
      {"scale", write_scale},
      {"cast", write_cast},
      {"pool2d", write_pool},
      {"resize", write_resize},
      {"pad", write_pad},
  };
  for (const char* op : {"relu", "sigmoid", "tanh", "exp", "sqrt", "abs", "softplus", "erf", "log", "sign",
                         "floor", "ceil", "round", "identity", "observe", "logical_not", "where", "range"})
    rows.push_back({op, write_plain});
  for (const char* op : {"add", "sub", "mul", "div", "max", "min", "pow", "mod", "prelu", "equal", "less",
                         "less_equal", "logical_and", "logical_or", "logical_xor"})
    rows.push_back({op, write_binary});
  return rows;
}

}  // namespace octet::onnx
