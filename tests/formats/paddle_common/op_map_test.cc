#include "formats/paddle_common/op_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/op_table.h"

namespace octet::paddle {
namespace {

TEST(OpMap, RowsNameWhatTheOpTableHas) {
  for (auto family : {numeric_rows, shape_rows, quantization_rows}) {
    for (const OpMap& row : family()) {
      const OpSpec* spec = find_op(row.octet);
      ASSERT_NE(spec, nullptr) << row.octet;
      for (const AttrMap& map : row.attrs)
        EXPECT_TRUE(std::any_of(spec->attrs.begin(), spec->attrs.end(),
                                [&](const AttrSpec& attr) { return attr.name == map.octet; }))
            << row.paddle << " " << map.octet;
      bool takes_all =
          std::any_of(row.inputs.begin(), row.inputs.end(), [](auto slot) { return slot.back() == '*'; });
      EXPECT_TRUE(takes_all || row.inputs.size() <= spec->inputs.size()) << row.paddle;
      EXPECT_LE(row.outputs.size(), spec->outputs.size()) << row.paddle;
    }
  }
}

}  // namespace
}  // namespace octet::paddle
