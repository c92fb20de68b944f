#include <gmock/gmock.h>

#include "graph/builder.h"
#include "runtime/executor.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;

Graph small_network() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 8, 8});
  ValueId scale = b.constant("scale", Tensor::of<float>({1}, {1}));
  ValueId q = b.op("quantize", {x, scale}, {});
  ValueId y = b.op("dequantize", {q, scale}, {});
  ValueId w = b.constant("w", Tensor(DType::kFloat32, {8, 4, 3, 3}));
  y = b.conv2d(y, w);
  y = b.op("pool2d", {y}, {});
  return b.build({y});
}

// What is said of the small network when an attribute of its nodes of this op has that value.
std::string check_with(const std::string& op, const char* name, Attr value) {
  Graph graph = small_network();
  for (Node& node : graph.nodes)
    if (node.op == op) node.attrs[name] = value;
  std::string error = error_of([&] { check_attributes(graph); });
  // Nothing is prepared of such a graph, whether it is optimized or not.
  for (bool ir_optim : {false, true})
    EXPECT_EQ(error_of([&] { prepare(graph, {.ir_optim = ir_optim}); }), error) << op << ' ' << name;
  return error;
}

TEST(CheckAttributes, AcceptsAGoodGraph) {
  EXPECT_EQ(check_with("conv2d", "groups", std::int64_t{1}), "");
}

TEST(CheckAttributes, NamesNodeAttributeValueAndWhatIsAllowed) {
  EXPECT_EQ(check_with("conv2d", "groups", std::int64_t{0}),
            "conv2d \"conv2d_0\": attribute groups is 0, expected a number from 1 to 1048576");
  EXPECT_EQ(check_with("pool2d", "strides", Ints{0, 1}),
            "pool2d \"pool2d_0\": attribute strides holds 0, expected numbers from 1 to 1024");
  EXPECT_EQ(check_with("pool2d", "kernel", Ints{2}),
            "pool2d \"pool2d_0\": attribute kernel has 1 numbers, expected 2");
  EXPECT_EQ(check_with("pool2d", "type", "median"),
            "pool2d \"pool2d_0\": attribute type is \"median\", expected \"max\" or \"avg\"");
  EXPECT_EQ(check_with("pool2d", "type", std::int64_t{1}),
            "pool2d \"pool2d_0\": attribute type is of type integer, expected text");
}

TEST(CheckAttributes, RefusesHostileOnesBeforeAnythingIsPrepared) {
  for (std::int64_t groups : {std::int64_t{-1}, std::int64_t{1} << 30, std::int64_t{1} << 62})
    EXPECT_THAT(check_with("conv2d", "groups", groups), HasSubstr("attribute groups is "));
  // In the allowed range, but not with these weights.
  EXPECT_THAT(
      check_with("conv2d", "groups", std::int64_t{3}),
      HasSubstr("attribute groups is 3, which does not divide the first dimension of weight 8x4x3x3"));
  for (const char* name : {"strides", "dilations"})
    for (std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 62})
      EXPECT_THAT(check_with("conv2d", name, Ints{1, value}), HasSubstr("expected numbers from 1 to 1024"));
  EXPECT_THAT(check_with("conv2d", "paddings", Ints{0, 0, 0, -1}), HasSubstr("holds -1"));
  for (std::int64_t bits : {99, 0, -1, 1 << 30})
    for (const char* op : {"quantize", "dequantize", "conv2d"})
      EXPECT_THAT(check_with(op, "bits", bits), HasSubstr("expected a number from 2 to ")) << op;
  EXPECT_THAT(check_with("quantize", "bits", std::int64_t{9}),
              HasSubstr("bits is 9, expected a number from 2 to 8 where dtype is int8"));
  EXPECT_THAT(check_with("conv2d", "activation", "gelu"), HasSubstr("expected \"\", \"relu\", "));
  EXPECT_THAT(check_with("conv2d", "activation_args", std::vector<double>{1, 2}),
              HasSubstr("activation_args has 2 numbers, \"\" takes 0"));
}

TEST(CheckAttributes, RefusesWeightsThatAreNone) {
  Graph graph = small_network();
  ValueId w = graph.find_value("w");
  graph.value(w).constant = Tensor(DType::kFloat32, {8, 36});
  graph.value(w).shape = {8, 36};
  EXPECT_THAT(error_of([&] { prepare(graph, {}); }),
              HasSubstr("weight has shape 8x36, expected 4 dimensions"));
}

}  // namespace
}  // namespace octet
