#include "kernels/ref/ref.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "graph/activation.h"

namespace octet::ref {

namespace {

constexpr Implementation row(std::string_view op, Kernel kernel) {
  return {.op = op, .name = "ref", .run = kernel};
}

// In the order of docs/ops.md; the rows of activation_table() come behind them.
constexpr Implementation kRows[] = {
    row("conv2d", conv2d),
    row("conv2d_transpose", conv2d_transpose),
    row("matmul", matmul),
    row("matmul_flat", matmul_flat),
    row("batch_norm", batch_norm),
    row("layer_norm", layer_norm),
    row("group_norm", group_norm),
    row("lrn", lrn),
    row("log_softmax", log_softmax),
    row("softmax", softmax),
    row("tanh", tanh),
    row("exp", exp),
    row("sqrt", sqrt),
    row("abs", abs),
    row("gelu", gelu),
    row("elu", elu),
    row("softplus", softplus),
    row("mish", mish),
    row("erf", erf),
    row("log", log),
    row("sign", sign),
    row("floor", floor),
    row("ceil", ceil),
    row("round", round),
    row("clip", clip),
    row("dropout", dropout),
    row("add", add),
    row("sub", sub),
    row("mul", mul),
    row("div", div),
    row("max", max),
    row("min", min),
    row("pow", pow),
    row("mod", mod),
    row("prelu", prelu),
    row("scale", scale),
    row("cast", cast),
    row("identity", identity),
    row("equal", equal),
    row("less", less),
    row("less_equal", less_equal),
    row("logical_and", logical_and),
    row("logical_or", logical_or),
    row("logical_xor", logical_xor),
    row("logical_not", logical_not),
    row("where", where),
    row("pool2d", pool2d),
    row("resize", resize),
    row("resize_arg_max", resize_arg_max),
    row("pad", pad),
    row("resample", resample),
    row("pool_nd", pool_nd),
    row("conv_nd", conv_nd),
    row("conv_nd_transpose", conv_nd_transpose),
    row("non_max_suppression", non_max_suppression),
    row("roi_align", roi_align),
    row("grid_sample", grid_sample),
    row("lstm", lstm),
    row("einsum", einsum),
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
    row("range", range),
    row("reorder", reorder),
    row("expand", expand),
    row("tile", tile),
    row("depth_to_space", depth_to_space),
    row("space_to_depth", space_to_depth),
    row("gather", gather),
    row("gather_elements", gather_elements),
    row("gather_nd", gather_nd),
    row("scatter_elements", scatter_elements),
    row("scatter_nd", scatter_nd),
    row("one_hot", one_hot),
    row("reduce_mean", reduce_mean),
    row("reduce_sum", reduce_sum),
    row("reduce_max", reduce_max),
    row("reduce_min", reduce_min),
    row("reduce_prod", reduce_prod),
    row("arg_max", arg_max),
    row("arg_min", arg_min),
    row("cumsum", cumsum),
    row("top_k", top_k),
    row("quantize", quantize),
    row("dequantize", dequantize),
    row("fake_quant", fake_quant),
    row("dynamic_quantize", dynamic_quantize),
    row("dynamic_fake_quant", dynamic_fake_quant),
    row("dequantize_sum", dequantize_sum),
    row("dequantize_range", dequantize_range),
    row("conv2d_integer", conv2d_integer),
    row("matmul_integer", matmul_integer),
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
  static const std::vector<Implementation> all = [] {
    std::vector<Implementation> rows(std::begin(kRows), std::end(kRows));
    for (const ActivationFunction& function : activation_table())
      rows.push_back(row(function.name, activate));
    return rows;
  }();
  return all;
}

const Implementation* find(std::string_view op) {
  std::span<const Implementation> rows = implementations();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Implementation& r) { return r.op == op; });
  return row == rows.end() ? nullptr : &*row;
}

bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, std::span<Tensor> outputs) {
  const Implementation* reference = find(node.op);
  if (!reference) return false;
  ThreadPool pool(1);
  reference->run({node, inputs, outputs, pool});
  return true;
}

}  // namespace octet::ref
