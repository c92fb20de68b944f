#include "kernels/ref/ref.h"

#include <algorithm>
#include <iterator>

namespace octet::ref {

namespace {

// In the order of docs/ops.md.
constexpr Row kRows[] = {
    {"conv2d", conv2d},
    {"conv2d_transpose", conv2d_transpose},
    {"matmul", matmul},
    {"matmul_flat", matmul_flat},
    {"batch_norm", batch_norm},
    {"layer_norm", layer_norm},
    {"softmax", softmax},
    {"relu", relu},
    {"sigmoid", sigmoid},
    {"tanh", tanh},
    {"exp", exp},
    {"sqrt", sqrt},
    {"abs", abs},
    {"relu6", relu6},
    {"leaky_relu", leaky_relu},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_swish", hard_swish},
    {"swish", swish},
    {"gelu", gelu},
    {"clip", clip},
    {"dropout", dropout},
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", div},
    {"max", max},
    {"min", min},
    {"pow", pow},
    {"scale", scale},
    {"cast", cast},
    {"identity", identity},
    {"pool2d", pool2d},
    {"resize", resize},
    {"pad", pad},
    {"reshape", identity},
    {"flatten", identity},
    {"squeeze", identity},
    {"unsqueeze", identity},
    {"transpose", transpose},
    {"concat", concat},
    {"split", split},
    {"slice", slice},
    {"shape", shape},
    {"full", full},
    {"reduce_mean", reduce_mean},
    {"reduce_sum", reduce_sum},
    {"reduce_max", reduce_max},
    {"arg_max", arg_max},
    {"quantize", quantize},
    {"dequantize", dequantize},
    {"fake_quant", fake_quant},
    {"dynamic_quantize", dynamic_quantize},
    {"dynamic_fake_quant", dynamic_fake_quant},
    {"dequantize_sum", dequantize_sum},
    {"dequantize_range", dequantize_range},
    {"observe", identity},
    {"qconv2d", qconv2d},
    {"qconv2d_transpose", qconv2d_transpose},
    {"qmatmul", qmatmul},
    {"qadd", qadd},
    {"qmul", qmul},
    {"qpool2d", qpool2d},
    {"qresize", qresize},
    {"qlut", qlut},
};

}  // namespace

std::span<const Row> kernels() {
  return kRows;
}

Kernel find(std::string_view op) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == op; });
  return row == std::end(kRows) ? nullptr : row->kernel;
}

}  // namespace octet::ref
