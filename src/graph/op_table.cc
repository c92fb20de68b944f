#include "graph/op_table.h"

#include <unordered_map>

#include "graph/ops/ops.h"

namespace octet {

std::span<const OpSpec> op_table() {
  static const std::vector<OpSpec> table = [] {
    std::vector<OpSpec> all;
    for (auto family : {ops::convolution, ops::matmul, ops::normalisation, ops::activation, ops::elementwise,
                        ops::window, ops::shape, ops::reduction, ops::quantization, ops::integer}) {
      std::vector<OpSpec> specs = family();
      all.insert(all.end(), specs.begin(), specs.end());
    }
    return all;
  }();
  return table;
}

const OpSpec* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpSpec*> index = [] {
    std::unordered_map<std::string_view, const OpSpec*> map;
    for (const OpSpec& spec : op_table()) map.emplace(spec.name, &spec);
    return map;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace octet
