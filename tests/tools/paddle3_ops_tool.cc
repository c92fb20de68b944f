// paddle3_ops_tool: the ops of Paddle 3's files that octet reads, one a line, as the files name them.
#include <fmt/format.h>

#include "formats/paddle3/op_map.h"

int main() {
  using namespace octet::paddle3;
  for (auto family : {numeric_rows, shape_rows, quantization_rows})
    for (const OpMap& row : family()) fmt::print("1.{}\n", row.name);
}
