#include <gtest/gtest.h>

#include "graph/builder.h"

namespace octet {
namespace {

TEST(Dump, IsReadable) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId w = b.constant("w", Tensor(DType::kFloat32, {4, 3, 3, 3}));
  ValueId y = b.conv2d(x, w, {.strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  std::vector<ValueId> parts = b.split(b.hard_sigmoid(y, static_cast<double>(1 / 6.0f)), {1, 3}, 1);
  ValueId joined = b.concat({parts[1], parts[0]}, 1);
  EXPECT_EQ(dump(b.build({joined})),
            "inputs\n"
            "  %x: float32 ?x3x8x8\n"
            "outputs\n"
            "  %concat_0: float32 ?x4x4x4\n"
            "constants\n"
            "  %w: float32 4x3x3x3, 432 bytes\n"
            "nodes\n"
            "  %conv2d_0: float32 ?x4x4x4 = conv2d(%x, %w) {paddings=[1,1,1,1], strides=[2,2]}\n"
            "  %hard_sigmoid_0: float32 ?x4x4x4 = hard_sigmoid(%conv2d_0) {slope=0.16666667}\n"
            "  %split_0: float32 ?x1x4x4, %split_1: float32 ?x3x4x4 = split(%hard_sigmoid_0) {axis=1, "
            "sections=[1,3]}\n"
            "  %concat_0: float32 ?x4x4x4 = concat(none, %split_1, %split_0) {axis=1}\n");
}

TEST(Dump, ShowsEveryKindOfAttributeOfAnUnknownOp) {
  Graph graph;
  ValueId y = graph.add_value("line\nbreak", DType::kInt8);
  graph.nodes.push_back({.op = "other\x1b",
                         .inputs = {},
                         .outputs = {y},
                         .attrs = {{"a", true},
                                   {"b", 7},
                                   {"c", 0.1},
                                   {"d", "text\t"},
                                   {"e", std::vector<std::int64_t>{1, -2}},
                                   {"f", std::vector<double>{0.5, 0.1}}}});
  EXPECT_EQ(dump(graph),
            "inputs\noutputs\nconstants\nnodes\n"
            "  %line\\x0abreak: int8 scalar = other\\x1b() {a=true, b=7, c=0.1, d=\"text\\x09\", e=[1,-2], "
            "f=[0.5,0.1]}\n");
}

}  // namespace
}  // namespace octet
