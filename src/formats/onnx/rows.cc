#include "formats/onnx/rows.h"

#include <unordered_map>

namespace octet::onnx {

std::span<const ReadRow> read_table() {
  static const std::vector<ReadRow> table = [] {
    std::vector<ReadRow> all;
    for (auto family :
         {numeric_rows, normalization_rows, window_rows, shape_rows, sequence_rows, quantization_rows}) {
      const std::vector<ReadRow> rows = family();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

const ReadRow* find_row(std::string_view type) {
  static const std::unordered_map<std::string_view, const ReadRow*> index = [] {
    std::unordered_map<std::string_view, const ReadRow*> map;
    for (const ReadRow& row : read_table()) map.emplace(row.type, &row);
    return map;
  }();
  auto it = index.find(type);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace octet::onnx
