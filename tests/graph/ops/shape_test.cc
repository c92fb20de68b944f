#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::infer_shape;
using testing::Ints;

constexpr std::int64_t U = kUnknown;

ValueInfo floats(Shape shape) {
  return {DType::kFloat32, std::move(shape), nullptr};
}

Shape reshape(Shape x, Ints shape) {
  return infer_shape("reshape", {floats(std::move(x))}, {{"shape", std::move(shape)}});
}

std::string fails(const std::string& op, std::vector<ValueInfo> inputs, Attrs attrs) {
  return error_of([&] { infer_shape(op, inputs, attrs); });
}

TEST(ShapeOps, Reshape) {
  EXPECT_EQ(reshape({2, 3, 4}, {4, 6}), (Shape{4, 6}));
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), (Shape{2, 12}));
  EXPECT_EQ(reshape({2, 3, 4}, {-1}), Shape{24});
  EXPECT_EQ(reshape({1, 1}, {}), Shape{});
  EXPECT_EQ(reshape({U, 16, 1, 1}, {0, -1}), (Shape{U, 16})) << "the unknown batch cancels out";
  EXPECT_EQ(reshape({U, 16}, {-1, 4}), (Shape{U, 4}));
  EXPECT_EQ(reshape({0, 4}, {-1, 2}), (Shape{0, 2}));
}

TEST(ShapeOps, ReshapeRejects) {
  auto error = [](Shape x, Ints shape) { return error_of([&] { reshape(x, shape); }); };
  EXPECT_EQ(error({2, 3}, {4, 2}), "reshape \"out\": x of shape 2x3 does not fit into 4x2");
  EXPECT_THAT(error({2, 3}, {4, -1}), HasSubstr("does not fit into 4x?"));
  EXPECT_THAT(error({2, 3}, {-1, -1}), HasSubstr("more than one dimension open"));
  EXPECT_THAT(error({2, 3}, {-2, 3}), HasSubstr("a dimension -2"));
  EXPECT_THAT(error({6}, {6, 0}), HasSubstr("copies dimension 1"));
  EXPECT_THAT(error({6}, {INT64_MAX, INT64_MAX}), HasSubstr("too many elements"));
  EXPECT_THAT(error({6}, Ints(17, 1)), HasSubstr("17 numbers, expected at most 16"));
  EXPECT_THAT(error({U}, {1 << 30, 1 << 30, -1}), HasSubstr("too many elements"));
}

TEST(ShapeOps, ReshapeTakesItsShapeFromInputs) {
  Tensor three = Tensor::of<std::int32_t>({1}, {3});
  ValueInfo known{DType::kInt32, {1}, &three}, open{DType::kInt32, {1}, nullptr};
  Graph graph;
  auto infer = [&](std::vector<const ValueInfo*> inputs, Shape declared) {
    Node node{.op = "reshape", .inputs = {}, .outputs = {0}, .attrs = {{"shape", Ints{1, 1}}}};
    for (const ValueInfo* input : inputs) node.inputs.push_back(input ? 0 : kNoValue);
    graph.values.resize(1);
    std::vector<ValueInfo> out{{DType::kFloat32, std::move(declared), nullptr}};
    infer_node(graph, node, inputs, out);
    return out[0].shape;
  };
  ValueInfo x = floats({2, 9}), batch = floats({U, 9}), shape{DType::kInt64, {2}, nullptr},
            any{DType::kInt64, {U}, nullptr};
  EXPECT_EQ(infer({&x, nullptr, &open, &known}, {}), (Shape{6, 3})) << "what is left can only be 6";
  EXPECT_EQ(infer({&x, nullptr, &open, &open}, {}), (Shape{U, U}));
  EXPECT_EQ(infer({&batch, nullptr, &open, &known}, {}), (Shape{U, 3}));
  EXPECT_EQ(infer({&x, &shape}, {}), (Shape{U, U}));
  EXPECT_EQ(infer({&x, &any}, {7, 7}), (Shape{7, 7}))
      << "not even the rank is known: what was declared stays";
}

TEST(ShapeOps, Flatten) {
  EXPECT_EQ(infer_shape("flatten", {floats({2, 3, 4, 5})}), (Shape{2, 60}));
  EXPECT_EQ(infer_shape("flatten", {floats({U, 3, 4, U})}, {{"start_axis", 1}, {"stop_axis", 2}}),
            (Shape{U, 12, U}));
  EXPECT_EQ(infer_shape("flatten", {floats({})}), Shape{1});
  EXPECT_THAT(fails("flatten", {floats({2, 3})}, {{"start_axis", 1}, {"stop_axis", 0}}),
              HasSubstr("comes after"));
  EXPECT_THAT(fails("flatten", {floats({2})}, {}), HasSubstr("start_axis 1 is out of range"));
}

TEST(ShapeOps, SqueezeAndUnsqueeze) {
  EXPECT_EQ(infer_shape("squeeze", {floats({2, 1, 3, 1})}), (Shape{2, 3}));
  EXPECT_EQ(infer_shape("squeeze", {floats({2, 1, 3, 1})}, {{"axes", Ints{-1, 0}}}), (Shape{2, 1, 3}));
  EXPECT_EQ(infer_shape("squeeze", {floats({U, 1, 3})}, {{"axes", Ints{1}}}), (Shape{U, 3}));
  EXPECT_EQ(infer_shape("unsqueeze", {floats({2, 3})}, {{"axes", Ints{0, 3, -1}}}), (Shape{1, 2, 3, 1, 1}));
  EXPECT_THAT(fails("squeeze", {floats({2})}, {{"axes", Ints{1}}}), HasSubstr("axes 1 is out of range"));
  EXPECT_THAT(fails("unsqueeze", {floats({2})}, {{"axes", Ints{5}}}), HasSubstr("axes 5 is out of range"));
  EXPECT_THAT(fails("unsqueeze", {floats({2})}, {{"axes", Ints(1000, 0)}}),
              HasSubstr("1000 numbers, expected at most 16"));
}

TEST(ShapeOps, Transpose) {
  EXPECT_EQ(infer_shape("transpose", {floats({2, U, 4})}, {{"perm", Ints{2, 0, -2}}}), (Shape{4, 2, U}));
  EXPECT_THAT(fails("transpose", {floats({2, 3})}, {{"perm", Ints{0, 0}}}),
              HasSubstr("names dimension 0 twice"));
  EXPECT_THAT(fails("transpose", {floats({2, 3})}, {{"perm", Ints{0, 2}}}),
              HasSubstr("perm 2 is out of range"));
  EXPECT_THAT(fails("transpose", {floats({2, 3})}, {{"perm", Ints{0}}}), HasSubstr("perm has 1 entries"));
}

TEST(ShapeOps, Concat) {
  Tensor one = Tensor::scalar<std::int32_t>(1);
  ValueInfo axis{DType::kInt32, {}, &one}, open{DType::kInt32, {}, nullptr};
  EXPECT_EQ(infer_shape("concat", {axis, floats({U, 3, 4}), floats({2, 5, U})}), (Shape{2, 8, 4}));
  EXPECT_EQ(infer_shape("concat", {axis, floats({2, U}), floats({2, 5})}), (Shape{2, U}));
  EXPECT_EQ(infer_shape("concat", {open, floats({2, 3}), floats({2, 5})}), (Shape{U, U}));
  EXPECT_THAT(fails("concat", {axis, floats({2, 3}), floats({3, 3})}, {}),
              HasSubstr("dimension 0 of 2x3 and 3x3"));
  EXPECT_THAT(fails("concat", {axis, floats({2, 3}), floats({2})}, {}), HasSubstr("expected 2 dimensions"));
  EXPECT_THAT(fails("concat", {axis, floats({2}), floats({2})}, {}), HasSubstr("axis 1 is out of range"));
  EXPECT_THAT(fails("concat", {axis, floats({2, 3}), {DType::kInt8, {2, 3}}}, {}), HasSubstr("x is int8"));
  EXPECT_THAT(fails("concat", {axis, floats({}), floats({})}, {}), HasSubstr("scalars"));
}

std::vector<Shape> split(Shape x, Attrs attrs, std::size_t outputs) {
  Graph graph;
  graph.values.resize(1 + outputs);
  Node node{.op = "split", .inputs = {0}, .outputs = {}, .attrs = std::move(attrs)};
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(i + 1));
  ValueInfo info = floats(std::move(x));
  const ValueInfo* pointer = &info;
  std::vector<ValueInfo> results(outputs);
  infer_node(graph, node, {&pointer, 1}, results);
  std::vector<Shape> shapes;
  for (const ValueInfo& result : results) shapes.push_back(result.shape);
  return shapes;
}

TEST(ShapeOps, Split) {
  EXPECT_EQ(split({U, 6}, {{"axis", 1}, {"num", 3}}, 3), (std::vector<Shape>{{U, 2}, {U, 2}, {U, 2}}));
  EXPECT_EQ(split({2, 6}, {{"axis", -1}, {"sections", Ints{1, -1, 2}}}, 3),
            (std::vector<Shape>{{2, 1}, {2, 3}, {2, 2}}));
  EXPECT_EQ(split({2, U}, {{"axis", -1}, {"sections", Ints{1, -1}}}, 2),
            (std::vector<Shape>{{2, 1}, {2, U}}));
  auto error = [](Attrs attrs, std::size_t outputs) {
    return error_of([&] { split({2, 6}, attrs, outputs); });
  };
  EXPECT_THAT(error({{"axis", 1}, {"num", 4}}, 4),
              HasSubstr("6 elements cannot be split into 4 equal parts"));
  EXPECT_THAT(error({{"axis", 1}, {"num", 3}}, 2), HasSubstr("num is 3, there are 2 outputs"));
  EXPECT_THAT(error({{"axis", 1}, {"num", -1}}, 1), HasSubstr("num is -1"));
  EXPECT_THAT(error({{"axis", 1}}, 1), HasSubstr("neither num nor sections"));
  EXPECT_THAT(error({{"axis", 1}, {"sections", Ints{5, 2}}}, 2), HasSubstr("[5,2] do not add up to 6"));
  EXPECT_THAT(error({{"axis", 1}, {"sections", Ints{7, -1}}}, 2), HasSubstr("do not add up"));
  EXPECT_THAT(error({{"axis", 1}, {"sections", Ints{8, -2}}}, 2), HasSubstr("-2 is no size"));
  EXPECT_THAT(error({{"axis", 1}, {"sections", Ints{-1, -1}}}, 2), HasSubstr("-1 is no size"));
  EXPECT_NE(error({{"axis", 1}, {"sections", Ints{INT64_MAX, INT64_MAX}}}, 2), "");
  EXPECT_THAT(error({{"axis", 2}, {"num", 1}}, 1), HasSubstr("axis 2 is out of range"));
}

Attrs slice_attrs(Ints axes, Ints starts, Ints ends, Ints decrease = {}) {
  return {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"decrease_axes", decrease}};
}

TEST(ShapeOps, Slice) {
  auto slice = [](Shape x, Attrs attrs) { return infer_shape("slice", {floats(x)}, attrs); };
  EXPECT_EQ(slice({10, 4}, slice_attrs({0}, {2}, {5})), (Shape{3, 4}));
  EXPECT_EQ(slice({10, 4}, slice_attrs({0, 1}, {-3, 0}, {INT64_MAX, -1})), (Shape{3, 3}));
  EXPECT_EQ(slice({10, 4}, slice_attrs({0}, {INT64_MIN}, {INT64_MAX})), (Shape{10, 4}));
  EXPECT_EQ(slice({10, 4}, slice_attrs({0}, {7}, {3})), (Shape{0, 4}));
  EXPECT_EQ(slice({4}, slice_attrs({0}, {1}, {2}, {0})), Shape{});
  EXPECT_EQ(slice({U, 4}, slice_attrs({0}, {0}, {1}, {0})), Shape{4});
  EXPECT_EQ(slice({U, 4}, slice_attrs({0}, {0}, {3})), (Shape{U, 4}));
  auto error = [&](Attrs attrs) { return error_of([&] { slice({10, 4}, attrs); }); };
  EXPECT_THAT(error(slice_attrs({2}, {0}, {1})), HasSubstr("axes 2 is out of range"));
  EXPECT_THAT(error(slice_attrs({0, 0}, {0, 0}, {1, 1})), HasSubstr("twice"));
  EXPECT_THAT(error(slice_attrs({0}, {}, {1})), HasSubstr("0 starts for 1 axes"));
  EXPECT_THAT(error(slice_attrs({0}, {0}, {1, 2})), HasSubstr("2 ends for 1 axes"));
  EXPECT_THAT(error(slice_attrs({0}, {0}, {2}, {0})), HasSubstr("which has 2 elements"));
  EXPECT_THAT(error({{"starts_items", 1}}), HasSubstr("starts_items is 1, there are 0 items"));
}

TEST(ShapeOps, FullIsBounded) {
  EXPECT_EQ(infer_shape("full", {}, {{"shape", Ints{2, 3}}}), (Shape{2, 3}));
  EXPECT_THAT(fails("full", {}, {{"shape", Ints{1 << 20, 1 << 20}}}), HasSubstr("has more than"));
  EXPECT_THAT(fails("full", {}, {{"shape", Ints{-1}}}), HasSubstr("a dimension -1"));
  EXPECT_THAT(fails("full", {}, {{"dtype", "complex"}}),
              HasSubstr("dtype is \"complex\", expected \"bool\", "));
  EXPECT_THAT(fails("full", {}, {{"dtype", "float16"}}), HasSubstr("not supported"));
  Tensor two = Tensor::of<float>({2}, {1, 2});
  ValueInfo shape{DType::kInt32, {1}, nullptr}, value{DType::kFloat32, {2}, &two};
  EXPECT_THAT(fails("full", {shape, value}, {}), HasSubstr("elements of value"));
}

TEST(ShapeValues, PartsOfAShapeAreFollowed) {
  Graph graph;
  ValueId x = graph.add_value("x", DType::kFloat32, {U, 3, 64, 48}), dims = graph.add_value("dims"),
          index = graph.add_constant("index", Tensor::of<std::int64_t>({2}, {2, 3})),
          low = graph.add_constant("low", Tensor::of<std::int64_t>({2}, {50, 50})),
          sides = graph.add_value("sides"), most = graph.add_value("most"), y = graph.add_value("y");
  graph.inputs = {x};
  graph.nodes = {{.op = "shape", .inputs = {x}, .outputs = {dims}, .attrs = {{"dtype", "int64"}}},
                 {.op = "gather", .inputs = {dims, index}, .outputs = {sides}, .attrs = {}},
                 {.op = "max", .inputs = {sides, low}, .outputs = {most}, .attrs = {}},
                 {.op = "resize", .inputs = {x, most}, .outputs = {y}, .attrs = {}}};
  graph.outputs = {y};
  infer_shapes(graph);
  EXPECT_EQ(graph.value(y).shape, (Shape{U, 3, 64, 50}));
}

}  // namespace
}  // namespace octet
