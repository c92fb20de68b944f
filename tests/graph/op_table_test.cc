#include "graph/op_table.h"

#include <gmock/gmock.h>

#include <set>

#include "graph/builder.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;

TEST(OpTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const OpSpec& spec : op_table()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(find_op(spec.name), &spec);
    EXPECT_FALSE(spec.inputs.empty()) << spec.name;
    EXPECT_FALSE(spec.outputs.empty()) << spec.name;
    for (std::size_t i = 0; i + 1 < spec.inputs.size(); ++i)
      EXPECT_FALSE(is_variadic(spec.inputs[i])) << spec.name;
  }
  EXPECT_EQ(find_op("while"), nullptr);
}

Graph one_op(const std::string& op, std::vector<ValueId> inputs, int outputs = 1) {
  Graph graph;
  for (int i = 0; i < 3; ++i) graph.add_value("v" + std::to_string(i), DType::kFloat32, {2, 3});
  Node node{.op = op, .inputs = std::move(inputs), .outputs = {}, .attrs = {}};
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(graph.add_value("out" + std::to_string(i)));
  graph.nodes.push_back(node);
  return graph;
}

std::string infer_error(Graph graph) {
  return error_of([&] { infer_shapes(graph); });
}

TEST(InferNode, NamesTheNodeAndTheSlot) {
  EXPECT_EQ(infer_error(one_op("add", {0})), "add \"out0\": input y is missing");
  EXPECT_EQ(infer_error(one_op("add", {kNoValue, 1})), "add \"out0\": input x is missing");
  EXPECT_EQ(infer_error(one_op("sub", {0, 1, 2})), "sub \"out0\": 3 inputs, expected at most 2");
  EXPECT_EQ(infer_error(one_op("relu", {0}, 2)), "relu \"out0\": 2 outputs, expected at most 1");
  EXPECT_EQ(infer_error(one_op("relu", {0}, 0)), "relu: output y is missing");
  EXPECT_EQ(infer_error(one_op("concat", {kNoValue, 0, kNoValue})), "concat \"out0\": input x is missing");
  EXPECT_EQ(infer_error(one_op("concat", {})), "concat \"out0\": nothing to join");
}

TEST(InferNode, RejectsWhatItDoesNotKnow) {
  Graph graph = one_op("while", {0});
  std::vector<ValueInfo> in(1), out(1);
  const ValueInfo* pointer = &in[0];
  std::string error = error_of([&] { infer_node(graph, graph.nodes[0], {&pointer, 1}, out); });
  EXPECT_THAT(error, HasSubstr("while \"out0\": op while is not known to octet"));
}

TEST(InferNode, BoundsShapes) {
  Graph graph = one_op("relu", {0});
  graph.values[0].shape = Shape(17, 1);
  EXPECT_THAT(infer_error(graph), HasSubstr("an input has 17 dimensions, octet takes at most 16"));
  graph.values[0].shape = {1, std::int64_t{1} << 50};
  EXPECT_THAT(infer_error(graph), HasSubstr("which cannot be"));
  graph.values[0].shape = {1 << 20, 1 << 20, 1 << 20};
  EXPECT_THAT(infer_error(graph), HasSubstr("too many elements"));
}

TEST(InferShapes, TreatsTheBatchAsUnknown) {
  Graph graph;
  ValueId x = graph.add_value("x", DType::kFloat32, {1, 3, 4, 4}), y = graph.add_value("y");
  graph.inputs = {x};
  graph.nodes.push_back({.op = "relu", .inputs = {x}, .outputs = {y}, .attrs = {}});
  infer_shapes(graph);
  EXPECT_EQ(graph.value(y).shape, (Shape{kUnknown, 3, 4, 4}));
  EXPECT_EQ(graph.value(x).shape, (Shape{1, 3, 4, 4})) << "what the file declares stays";
}

TEST(InferShapes, KeepsWhatTheFileDeclaredForUnknownOpsAndRanks) {
  Graph graph;
  ValueId x = graph.add_value("x", DType::kFloat32, {kUnknown, 8}),
          dims = graph.add_value("dims", DType::kInt64, {kUnknown});
  ValueId a = graph.add_value("a", DType::kInt32, {-7, 5}),
          b = graph.add_value("b", DType::kFloat32, {kUnknown, 2, 4});
  ValueId c = graph.add_value("c");
  graph.inputs = {x, dims};
  graph.nodes.push_back({.op = "paddle:custom", .inputs = {x}, .outputs = {a}, .attrs = {}});
  graph.nodes.push_back({.op = "reshape", .inputs = {x, dims}, .outputs = {b}, .attrs = {}});
  graph.nodes.push_back({.op = "identity", .inputs = {a}, .outputs = {c}, .attrs = {}});
  infer_shapes(graph);
  EXPECT_EQ(graph.value(b).shape, (Shape{kUnknown, 2, 4}));
  EXPECT_EQ(graph.value(c).shape, (Shape{kUnknown, 5}));
  EXPECT_EQ(graph.value(c).dtype, DType::kInt32);
}

// How PaddleSeg's exports resize: the size is computed from the shape of another tensor.
TEST(InferShapes, ComputesShapesFromShapes) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 64, 48});
  ValueId hw = b.slice(b.op("shape", {x}), {0}, {2}, {4});
  ValueId small = b.max_pool(x, {.kernel = {2, 2}, .strides = {2, 2}});
  ValueId y = b.op("resize", {small, hw}, {{"mode", "bilinear"}});
  ValueId n = b.op("slice", {b.op("shape", {x})},
                   {{"axes", Ints{0}}, {"starts", Ints{0}}, {"ends", Ints{1}}, {"decrease_axes", Ints{0}}});
  ValueId channels = b.constant("channels", Tensor::of<std::int32_t>({1}, {3}));
  ValueId z = b.op("reshape", {y, kNoValue, n, channels,
                               b.op("full", {}, {{"shape", Ints{1}}, {"dtype", "int32"}, {"value", -1.0}})});
  Graph graph = b.build({y, z});
  EXPECT_EQ(graph.value(y).shape, (Shape{kUnknown, 3, 64, 48}));
  EXPECT_EQ(graph.value(z).shape, (Shape{kUnknown, 3, kUnknown}));
}

TEST(InferShapes, FollowsIntegerArithmetic) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 32, 40});
  ValueId h = b.slice(b.op("shape", {x}), {0}, {2}, {3});
  ValueId two = b.constant("two", Tensor::of<std::int32_t>({1}, {2}));
  ValueId half = b.op("scale", {b.op("div", {h, two})}, {{"scale", 1.0}, {"bias", 1.0}});  // 17
  ValueId wide = b.cast(b.mul(half, two), DType::kInt64);                                  // 34
  ValueId both = b.concat({wide, b.cast(h, DType::kInt64)}, 0);                            // 34, 32
  ValueId y = b.op("full", {both});
  Graph graph = b.build({y});
  EXPECT_EQ(graph.value(y).shape, (Shape{34, 32}));
}

}  // namespace
}  // namespace octet
