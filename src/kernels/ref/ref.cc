#include "kernels/ref/ref.h"

#include <algorithm>
#include <iterator>

namespace octet::ref {

namespace {

constexpr Implementation row(std::string_view op, Kernel kernel) {
  return {.op = op, .name = "ref", .run = kernel};
}

// In the order of docs/ops.md.
constexpr Implementation kRows[] = {
    row("conv2d", conv2d),
    row("conv2d_transpose", conv2d_transpose),
    row("matmul", matmul),
    row("matmul_flat", matmul_flat),
    row("batch_norm", batch_norm),
    row("layer_norm", layer_norm),
    row("softmax", softmax),
    row("relu", relu),
    row("sigmoid", sigmoid),
    row("tanh", tanh),
    row("exp", exp),
    row("sqrt", sqrt),
    row("abs", abs),
    row("relu6", relu6),
    row("leaky_relu", leaky_relu),
    row("hard_sigmoid", hard_sigmoid),
    row("hard_swish", hard_swish),
    row("swish", swish),
    row("gelu", gelu),
    row("clip", clip),
    row("dropout", dropout),
    row("add", add),
    row("sub", sub),
    row("mul", mul),
    row("div", div),
    row("max", max),
    row("min", min),
    row("pow", pow),
    row("scale", scale),
    row("cast", cast),
    row("identity", identity),
    row("pool2d", pool2d),
    row("resize", resize),
    row("pad", pad),
    row("reshape", identity),
    row("flatten", identity),
    row("squeeze", identity),
    row("unsqueeze", identity),
    row("transpose", transpose),
    row("concat", concat),
    row("split", split),
    row("slice", slice),
    row("shape", shape),
    row("full", full),
    row("reorder", reorder),
    row("reduce_mean", reduce_mean),
    row("reduce_sum", reduce_sum),
    row("reduce_max", reduce_max),
    row("arg_max", arg_max),
    row("quantize", quantize),
    row("dequantize", dequantize),
    row("fake_quant", fake_quant),
    row("dynamic_quantize", dynamic_quantize),
    row("dynamic_fake_quant", dynamic_fake_quant),
    row("dequantize_sum", dequantize_sum),
    row("dequantize_range", dequantize_range),
    row("observe", identity),
    row("qconv2d", qconv2d),
    row("qconv2d_transpose", qconv2d_transpose),
    row("qmatmul", qmatmul),
    row("qadd", qadd),
    row("qmul", qmul),
    row("qpool2d", qpool2d),
    row("qresize", qresize),
    row("qlut", qlut),
};

}  // namespace

std::span<const Implementation> implementations() {
  return kRows;
}

const Implementation* find(std::string_view op) {
  auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Implementation& r) { return r.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace octet::ref
