#include "formats/paddle3/op_map.h"

#include <gtest/gtest.h>

#include "formats/paddle_common/op_map.h"

namespace octet::paddle3 {
namespace {

// Every op that the older files can say, these files can say, too: what octet reads in one format it writes
// in the other.
TEST(Paddle3OpMap, HasEveryOpThatTheOlderFilesHave) {
  for (auto family : {paddle::numeric_rows, paddle::shape_rows, paddle::quantization_rows}) {
    std::string_view written;
    for (const paddle::OpMap& row : family()) {
      const bool writes = row.octet != written;  // the first row with a name is the one that writes
      written = row.octet;
      EXPECT_TRUE(!writes || row_to_write(row.paddle)) << row.paddle;
    }
  }
}

TEST(Paddle3OpMap, RowsNameOpsOfTheOtherMap) {
  for (auto family : {numeric_rows, shape_rows, quantization_rows}) {
    for (const OpMap& row : family()) {
      // Of these two the older files have no op; other ones say the same.
      EXPECT_TRUE(row.old == "stack" || row.old == "shape64" || paddle::has_type(row.old)) << row.name;
      for (const AttrMap& attr : row.attrs)  // no attribute may be missing in these files
        EXPECT_TRUE(attr.tag == Tag::kPlace || attr.fallback.index() != 0 || attr.tag <= Tag::kInt64)
            << row.name << " " << attr.name;
    }
  }
}

}  // namespace
}  // namespace octet::paddle3
