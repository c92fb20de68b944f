#include "formats/onnx/rows.h"

// Matrix products, activation functions, arithmetic, comparisons.
namespace octet::onnx {

ValueId number(Reader& r, double value, DType dtype) {
  return r.add(Tensor::scalar(value).cast(dtype));
}

ValueId shape_of(Reader& r, ValueId x) {
  return r.emit("shape", {x}, {{"dtype", "int64"}});
}

namespace {

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

void read_dropout(Reader& r, const ReadRow&) {
  if (r.has(2)) {
    const Tensor* training = r.constant(r.in(2));
    if (!training || training->dtype() != DType::kBool || training->size() != 1 || training->data<bool>()[0])
      fail("training_mode is not false; octet runs models at inference");
  }
  r.result(r.in(0));
  if (r.wants(1))
    r.result(r.emit("full", {shape_of(r, r.in(0))},
                    {{"dtype", r.opset() < 10 ? "float32" : "bool"}, {"value", 1.0}}),
             1);
}

}  // namespace

std::vector<ReadRow> numeric_rows() {
  return {
      {"Gemm", 6, "matmul", read_gemm},
      {"MatMul", 1, "matmul", read_plain},
      {"Dropout", 6, "", read_dropout, "not with training_mode"},
      {"Relu", 6, "relu", read_plain},
      {"LeakyRelu", 6, "leaky_relu", read_leaky_relu},
      {"PRelu", 6, "prelu", read_prelu},
      {"Sigmoid", 6, "sigmoid", read_plain},
      {"HardSigmoid", 6, "hard_sigmoid", read_hard_sigmoid},
      {"HardSwish", 14, "hard_swish", read_plain},
      {"Clip", 6, "clip", read_clip},
      {"Elu", 6, "elu", read_elu},
      {"Selu", 6, "elu", read_selu},
      {"Softplus", 1, "softplus", read_plain},
      {"Mish", 18, "mish", read_plain},
      {"Gelu", 20, "gelu", read_gelu},
      {"Swish", 24, "swish", read_swish},
      {"Erf", 9, "erf", read_plain},
      {"Tanh", 6, "tanh", read_plain},
      {"Exp", 6, "exp", read_plain},
      {"Log", 6, "log", read_plain},
      {"Sqrt", 6, "sqrt", read_plain},
      {"Reciprocal", 6, "div", read_reciprocal},
      {"Pow", 1, "pow", read_pow},
      {"Floor", 6, "floor", read_plain},
      {"Ceil", 6, "ceil", read_plain},
      {"Round", 11, "round", read_plain},
      {"Sign", 9, "sign", read_plain},
      {"Neg", 6, "scale", read_neg},
      {"Abs", 6, "abs", read_plain},
      {"Add", 6, "add", read_binary},
      {"Sub", 6, "sub", read_binary},
      {"Mul", 6, "mul", read_binary},
      {"Div", 6, "div", read_binary},
      {"Mod", 10, "mod", read_mod},
      {"Min", 6, "min", read_chain},
      {"Max", 6, "max", read_chain},
      {"Sum", 6, "add", read_chain},
      {"Mean", 6, "add", read_mean},
      {"Identity", 1, "identity", read_identity},
      {"Cast", 6, "cast", read_cast},
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
