#include "formats/onnx/rows.h"

// QuantizeLinear and DequantizeLinear: ONNX's steps and zero points, which graph/quantization.h describes.
namespace octet::onnx {

namespace {

// Which dimension the scales run along; none where there is but one.
std::int64_t channel_axis(Reader& r) {
  const Shape& scale = r.shape(r.in(1));
  if (scale.empty()) return -1;
  if (scale.size() != 1)
    fail("its scale has shape {}: expected one dimension, or a block_size", to_string(scale));
  if (scale[0] == 1) return -1;
  return Reader::axis(r.integer("axis", 1), r.rank(r.in(0)));
}

// Scales or zero points of blocks, input i, one for each number: each is repeated along the axis as often as
// its block is long. The last block may be cut off.
ValueId one_per_number(Reader& r, std::size_t i, std::int64_t block) {
  const Shape &x = r.shape(r.in(0)), &scales = r.shape(r.in(i));
  const std::int64_t axis = Reader::axis(r.integer("axis", 1), x.size());
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t length = x[at], blocks = scales.size() == x.size() ? scales[at] : 0;
  block = std::min(block, length);
  bool fits = block > 0 && (length - 1) / block + 1 == blocks;
  for (std::size_t k = 0; fits && k < x.size(); ++k)  // or else they would be broadcast, which nobody means
    fits = scales[k] != kUnknown && (k == at || x[k] == kUnknown || x[k] == scales[k]);
  if (!fits)
    fail("its scales of shape {} are not for blocks of {} numbers of shape {}", to_string(scales),
         r.integer("block_size"), to_string(x));
  Ints split(scales.begin(), scales.end()), joined = split;
  split.insert(split.begin() + axis + 1, 1);
  Ints repeated = split;
  repeated[at + 1] = block;
  joined[at] = blocks * block;
  const ValueId column = r.emit("reshape", {r.in(i)}, {{"shape", split}});
  const ValueId all =
      r.emit("reshape", {r.emit("expand", {column}, {{"shape", repeated}})}, {{"shape", joined}});
  if (joined[at] == length) return all;
  return r.emit("slice", {all}, {{"axes", Ints{axis}}, {"starts", Ints{0}}, {"ends", Ints{length}}});
}

ValueId as_float(Reader& r, ValueId x) {
  return r.dtype(x) == DType::kFloat32 ? x : r.emit("cast", {x}, {{"dtype", "float32"}});
}

// With a scale for each block of numbers along an axis there is no integer arithmetic: plain ops do it.
void read_quantize_blocks(Reader& r, std::int64_t block, DType dtype) {
  if (dtype != DType::kInt8 && dtype != DType::kUInt8 && dtype != DType::kInt16)
    fail("its result is {} in blocks of {}", octet::name_of(dtype), block);
  const bool is_unsigned = dtype == DType::kUInt8;
  const double steps = dtype == DType::kInt16 ? 65536 : 256, low = is_unsigned ? 0 : -steps / 2;
  const ValueId scales = as_float(r, one_per_number(r, 1, block));
  ValueId y = r.emit("round", {r.emit("div", {as_float(r, r.in(0)), scales})});
  if (r.has(2)) y = r.emit("add", {y, as_float(r, one_per_number(r, 2, block))});
  y = r.emit("clip", {y}, {{"min", low}, {"max", low + steps - 1}});
  r.result(r.emit("cast", {y}, {{"dtype", std::string(octet::name_of(dtype))}}));
}

void read_dequantize_blocks(Reader& r, std::int64_t block) {
  ValueId y = as_float(r, r.in(0));
  if (r.has(2)) y = r.emit("sub", {y, as_float(r, one_per_number(r, 2, block))});
  y = r.emit("mul", {y, as_float(r, one_per_number(r, 1, block))});
  const DType dtype = r.dtype(r.in(1));
  r.result(dtype == DType::kFloat32 ? y
                                    : r.emit("cast", {y}, {{"dtype", std::string(octet::name_of(dtype))}}));
}

std::vector<ValueId> operands(Reader& r) {
  std::vector<ValueId> inputs = {r.in(0), r.in(1)};
  if (r.has(2)) inputs.push_back(r.in(2));
  return inputs;
}

void read_quantize(Reader& r, const ReadRow&) {
  DType dtype = DType::kUInt8;
  if (r.has(2)) dtype = r.dtype(r.in(2));
  if (r.integer("output_dtype", 0) != 0) dtype = r.dtype_attribute("output_dtype");
  if (r.integer("precision", 0) > 1) fail("precision is {}", r.integer("precision"));
  if (const std::int64_t block = r.integer("block_size", 0)) return read_quantize_blocks(r, block, dtype);
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
  if (const std::int64_t block = r.integer("block_size", 0)) return read_dequantize_blocks(r, block);
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
      {"QuantizeLinear", 10, "quantize", read_quantize, "to 8 bits; to 8 or 16 with a scale per block"},
      {"DequantizeLinear", 10, "dequantize", read_dequantize},
      {"DynamicQuantizeLinear", 11, "quantize", read_dynamic_quantize},
      {"QLinearConv", 10, "conv2d", read_qlinear_conv, "along two dimensions"},
      {"QLinearMatMul", 10, "matmul", read_qlinear_matmul, "one scale of the result"},
      {"ConvInteger", 10, "conv2d_integer", read_conv_integer, "along two dimensions"},
      {"MatMulInteger", 10, "matmul_integer", read_matmul_integer, "one zero point of x"},
  };
}

}  // namespace octet::onnx
