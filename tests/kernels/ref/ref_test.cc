#include "kernels/ref/ref.h"

#include <gtest/gtest.h>

#include "graph/op_table.h"

namespace octet {
namespace {

TEST(ReferenceKernels, EveryOpHasOne) {
  for (const OpSpec& op : op_table()) EXPECT_NE(ref::find(op.name), nullptr) << op.name;
}

TEST(ReferenceKernels, AreOfOpsThatExist) {
  for (const Implementation& row : ref::implementations()) EXPECT_NE(find_op(row.op), nullptr) << row.op;
}

}  // namespace
}  // namespace octet
