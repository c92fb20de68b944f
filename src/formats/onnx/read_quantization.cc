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
    fail("block_size is {}: octet reads one scale a tensor or channel", r.integer("block_size"));
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

void read_dequantize(Reader& r, const ReadRow&) {
  check_blocks(r);
  r.result(r.emit("dequantize", operands(r), {{"axis", channel_axis(r)}, {"unit", "step"}}));
}

}  // namespace

std::vector<ReadRow> quantization_rows() {
  return {
      {"QuantizeLinear", 10, "quantize", read_quantize, "to 8 bits, one scale a tensor or channel"},
      {"DequantizeLinear", 10, "dequantize", read_dequantize, "one scale a tensor or channel"},
  };
}

}  // namespace octet::onnx
