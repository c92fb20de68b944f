#include "formats/onnx/rows.h"

// QuantizeLinear and DequantizeLinear: ONNX's steps and zero points, which graph/quantization.h describes.
namespace octet::onnx {

namespace {

// Which dimension the scales run along; none where there is but one.
std::int64_t channel_axis(Reader& r) {
  const Shape& scale = r.shape(r.in(1));
  if (scale.empty()) return -1;
  if (scale.size() != 1)
    fail("its scale has shape {}: blocks of numbers, which octet does not read", to_string(scale));
  if (scale[0] == 1) return -1;
  return Reader::axis(r.integer("axis", 1), r.rank(r.in(0)));
}

void check_blocks(Reader& r) {
  if (r.integer("block_size", 0) != 0)
    fail("block_size is {}: octet reads one scale per tensor or channel", r.integer("block_size"));
}

std::vector<ValueId> operands(Reader& r) {
  std::vector<ValueId> inputs = {r.in(0), r.in(1)};
  if (r.has(2)) inputs.push_back(r.in(2));
  return inputs;
}

void read_quantize(Reader& r, const ReadRow&) {
  check_blocks(r);
  DType dtype = DType::kUInt8;
  if (r.has(2)) dtype = r.dtype(r.in(2));
  if (r.integer("output_dtype", 0) != 0) dtype = r.dtype_attribute("output_dtype");
  if (r.integer("precision", 0) > 1) fail("precision is {}", r.integer("precision"));
  ValueId x = r.in(0);
  std::vector<ValueId> inputs = operands(r);
  if (r.dtype(x) == DType::kInt32) inputs[0] = r.emit("cast", {x}, {{"dtype", "float32"}});
  r.result(
      r.emit("quantize", inputs,
             {{"axis", channel_axis(r)}, {"unit", "step"}, {"dtype", std::string(octet::name_of(dtype))}}));
}

// How many elements an input has.
std::int64_t product_of(Reader& r, std::size_t i) {
  return element_count(r.shape(r.in(i)));
}

// Scales and zero points as a vector: some files have them with more dimensions.
ValueId flat(Reader& r, ValueId id) {
  return r.rank(id) <= 1 ? id : r.emit("reshape", {id}, {{"shape", Ints{-1}}});
}

void read_dequantize(Reader& r, const ReadRow&) {
  check_blocks(r);
  r.result(r.emit("dequantize", operands(r), {{"axis", channel_axis(r)}, {"unit", "step"}}));
}

const Attrs kStep = {{"unit", "step"}};

// A quantized operand in floats: inputs `first`, its scale and its zero point. Several scales are those of
// dimension `axis`.
ValueId operand(Reader& r, std::size_t first, std::int64_t axis) {
  Attrs attrs = kStep;
  if (product_of(r, first + 1) != 1) attrs["axis"] = axis;
  return r.emit("dequantize", {r.in(first), flat(r, r.in(first + 1)), flat(r, r.in(first + 2))}, attrs);
}

void quantized_result(Reader& r, ValueId y, std::size_t scale) {
  if (product_of(r, scale) != 1)
    fail("its result has several scales, of shape {}", to_string(r.shape(r.in(scale))));
  Attrs attrs = kStep;
  attrs["dtype"] = std::string(octet::name_of(r.dtype(r.in(scale + 1))));
  r.result(r.emit("quantize", {y, flat(r, r.in(scale)), flat(r, r.in(scale + 1))}, attrs));
}

// A bias of int32 is in units of the sums.
void read_qlinear_conv(Reader& r, const ReadRow&) {
  if (r.rank(r.in(3)) != 4) fail("its weights have shape {}", to_string(r.shape(r.in(3))));
  Attrs attrs = window_attrs(r, 2);
  attrs["groups"] = r.integer("group", 1);
  std::vector<ValueId> inputs = {operand(r, 0, 1), operand(r, 3, 0)};
  if (r.has(8)) {
    const ValueId unit = r.emit("mul", {flat(r, r.in(1)), flat(r, r.in(4))});
    Attrs of_bias = kStep;
    if (product_of(r, 4) != 1) of_bias["axis"] = std::int64_t{0};
    inputs.push_back(r.emit("dequantize", {r.in(8), unit}, of_bias));
  }
  quantized_result(r, r.emit("conv2d", inputs, attrs), 6);
}

void read_qlinear_matmul(Reader& r, const ReadRow&) {
  const auto rows = static_cast<std::int64_t>(r.rank(r.in(0))) - 2;
  const auto columns = static_cast<std::int64_t>(r.rank(r.in(3))) - 1;
  quantized_result(r, r.emit("matmul", {operand(r, 0, rows), operand(r, 3, columns)}), 6);
}

void read_conv_integer(Reader& r, const ReadRow&) {
  if (r.rank(r.in(1)) != 4) fail("its weights have shape {}", to_string(r.shape(r.in(1))));
  Attrs attrs = window_attrs(r, 2);
  attrs["groups"] = r.integer("group", 1);
  r.result(r.emit("conv2d_integer", {r.in(0), r.in(1), r.maybe(2), r.maybe(3)}, attrs));
}

void read_matmul_integer(Reader& r, const ReadRow&) {
  r.result(r.emit("matmul_integer", {r.in(0), r.in(1), r.maybe(2), r.maybe(3)}));
}

// scale = (max(x, 0) - min(x, 0)) / 255, or 1 where all are 0; zero_point = round(-min / scale).
void read_dynamic_quantize(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0), zero = number(r, 0);
  const ValueId high = r.emit("max", {r.emit("reduce_max", {x}, {{"all", true}}), zero});
  const ValueId low = r.emit("min", {r.emit("reduce_min", {x}, {{"all", true}}), zero});
  const ValueId range = r.emit("div", {r.emit("sub", {high, low}), number(r, 255)});
  const ValueId scale = r.emit("where", {r.emit("equal", {range, zero}), number(r, 1), range});
  const ValueId nearest = r.emit("round", {r.emit("div", {r.emit("sub", {zero, low}), scale})});
  const ValueId bounded = r.emit("clip", {nearest}, {{"min", 0.0}, {"max", 255.0}});
  const ValueId zero_point = r.emit("cast", {bounded}, {{"dtype", "uint8"}});
  Attrs attrs = kStep;
  attrs["dtype"] = "uint8";
  r.result(r.emit("quantize", {x, scale, zero_point}, attrs));
  if (r.wants(1)) r.result(scale, 1);
  if (r.wants(2)) r.result(zero_point, 2);
}

}  // namespace

std::vector<ReadRow> quantization_rows() {
  return {
      {"QuantizeLinear", 10, "quantize", read_quantize, "to 8 bits, one scale per tensor or channel"},
      {"DequantizeLinear", 10, "dequantize", read_dequantize, "one scale per tensor or channel"},
      {"DynamicQuantizeLinear", 11, "quantize", read_dynamic_quantize},
      {"QLinearConv", 10, "conv2d", read_qlinear_conv, "along two dimensions"},
      {"QLinearMatMul", 10, "matmul", read_qlinear_matmul, "one scale of the result"},
      {"ConvInteger", 10, "conv2d_integer", read_conv_integer, "along two dimensions"},
      {"MatMulInteger", 10, "matmul_integer", read_matmul_integer, "one zero point of x"},
  };
}

}  // namespace octet::onnx
