#include "quant/paddle_types.h"

#include <algorithm>
#include <map>

#include "graph/op_table.h"

namespace octet::quant {

namespace {

const std::map<std::string_view, std::string_view>& paddle_names() {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"matmul", "matmul_v2"},     {"matmul_flat", "mul"},     {"add", "elementwise_add"},
      {"mul", "elementwise_mul"},  {"sub", "elementwise_sub"}, {"div", "elementwise_div"},
      {"max", "elementwise_max"},  {"min", "elementwise_min"}, {"flatten", "flatten_contiguous_range"},
      {"transpose", "transpose2"}, {"reshape", "reshape2"},    {"squeeze", "squeeze2"},
      {"unsqueeze", "unsqueeze2"}};
  return kNames;
}

}  // namespace

std::string paddle_type(const Graph& graph, const Node& node) {
  if (node.op == "conv2d") {
    const Shape& weight = graph.value(node.inputs[1]).shape;
    bool depthwise = attr<std::int64_t>(node, "groups") > 1 && weight.size() == 4 && weight[1] == 1;
    return depthwise ? "depthwise_conv2d" : "conv2d";
  }
  auto it = paddle_names().find(node.op);
  return std::string(it == paddle_names().end() ? std::string_view(node.op) : it->second);
}

bool is_paddle_type(std::string_view type) {
  return find_op(type) || type == "depthwise_conv2d" || type == "matmul_v2" || type == "interp" ||
         std::any_of(paddle_names().begin(), paddle_names().end(),
                     [&](const auto& pair) { return pair.second == type; });
}

}  // namespace octet::quant
