#include "quant/insertion_points.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

// Where quantization goes, on small graphs of one kind of op each.
namespace octet::quant {
namespace {

using octet::testing::error_of;
using octet::testing::ramp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

ValueId conv(Builder& b, ValueId x, const std::string& name, std::int64_t in = 4, std::int64_t out = 4,
             std::int64_t groups = 1) {
  return b.conv2d(x, b.constant(name, ramp({out, in / groups, 1, 1}, 3)), {.groups = groups});
}

ValueId image(Builder& b) {
  return b.input("x", {kUnknown, 4, 8, 8});
}

InsertionPointOptions for_paddle() {
  InsertionPointOptions options;
  options.deploy = Deploy::kPaddle;
  return options;
}

// The names of the weights that become integers.
std::vector<std::string> layers(const Graph& graph, const InsertionPointOptions& options = {}) {
  std::vector<std::string> names;
  for (const Layer& layer : find_insertion_points(graph, options).layers)
    names.push_back(graph.value(node_of(graph, layer).inputs[1]).name);
  return names;
}

// The ops that read integers, with the slot: "add:0".
std::vector<std::string> readers(const Graph& graph, const InsertionPointOptions& options = {}) {
  std::vector<std::string> result;
  for (const InsertionPoint& point : find_insertion_points(graph, options).inputs)
    result.push_back(graph.nodes[static_cast<std::size_t>(point.node)].op + ":" + std::to_string(point.slot));
  return result;
}

TEST(InsertionPoints, AResidualAddReadsTheOtherTensorAsIntegersAndItsLayerInFloat) {
  Builder b;
  ValueId first = b.relu(conv(b, image(b), "a"));
  ValueId sum = b.add(conv(b, first, "b"), first);
  Graph graph = b.build({b.relu(sum)});
  EXPECT_THAT(layers(graph), ElementsAre("a", "b"));
  // What conv b makes is added in its epilogue; what relu made comes as integers.
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "add:1"));
  InsertionPoints points = find_insertion_points(graph, {});
  EXPECT_THAT(points.optional.size(), 1u);
  EXPECT_EQ(points.tensors(graph), (std::set<ValueId>{graph.inputs[0], first}));
  EXPECT_THAT(points.same_threshold, IsEmpty());
}

TEST(InsertionPoints, OfTwoLayersThatAreAddedTheLaterOneTakesTheSum) {
  Builder b;
  ValueId x = image(b);
  ValueId first = conv(b, x, "a"), second = conv(b, x, "b");
  Graph graph = b.build({b.relu(b.add(first, second)), b.relu(b.add(b.relu(second), first))});
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "add:0", "add:1", "add:0", "add:1"))
      << "with others who look nothing is left in an epilogue";
  Builder c;
  x = image(c);
  first = conv(c, x, "a"), second = conv(c, x, "b");
  graph = c.build({c.relu(c.add(first, second))});
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "add:0"));
}

TEST(InsertionPoints, ABiasThatIsReshapedFirstIsNotQuantized) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 8, 8});
  ValueId bias = b.reshape(b.constant("bias", ramp({4}, 3)), {1, 4, 1, 1});
  ValueId y = b.relu(b.add(conv(b, x, "first"), bias));
  Graph graph = b.build({b.add(conv(b, y, "second"), y)});
  InsertionPoints points = find_insertion_points(graph, {});
  EXPECT_FALSE(points.tensors(graph).contains(bias));
  EXPECT_EQ(points.tensors(graph), (std::set<ValueId>{x, y}));
}

TEST(InsertionPoints, AConcatHandsIntegersOnWithOneThreshold) {
  Builder b;
  ValueId x = image(b);
  ValueId left = b.relu(conv(b, x, "a")), right = b.relu(conv(b, x, "b"));
  ValueId joined = b.concat({left, right}, 1);
  Graph graph = b.build({conv(b, joined, "c", 8)});
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "concat:1", "concat:2", "conv2d:0"));
  EXPECT_THAT(find_insertion_points(graph, {}).same_threshold, ElementsAre(ElementsAre(joined, left, right)));
}

TEST(InsertionPoints, AConcatThatSomeoneReadsInFloatStaysInFloat) {
  Builder b;
  ValueId x = image(b);
  ValueId joined = b.concat({b.relu(conv(b, x, "a")), b.relu(conv(b, x, "b"))}, 1);
  Graph graph = b.build({conv(b, joined, "c", 8), b.softmax(joined)});
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "conv2d:0"));
  EXPECT_THAT(find_insertion_points(graph, {}).same_threshold, IsEmpty());
}

TEST(InsertionPoints, APoolAndAResizeHandIntegersOn) {
  for (bool pool : {true, false}) {
    Builder b;
    ValueId y = b.relu(conv(b, image(b), "a"));
    ValueId smaller =
        pool ? b.max_pool(y, {.kernel = {2, 2}, .strides = {2, 2}}) : b.resize(y, {.out_h = 16, .out_w = 16});
    Graph graph = b.build({conv(b, smaller, "b")});
    EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", pool ? "pool2d:0" : "resize:0", "conv2d:0"));
    EXPECT_THAT(find_insertion_points(graph, {}).same_threshold, ElementsAre(ElementsAre(smaller, y)));
  }
}

TEST(InsertionPoints, AGlobalMeanHasAScaleOfItsOwn) {
  Builder b;
  ValueId y = b.relu(conv(b, image(b), "a"));
  Graph graph = b.build({conv(b, b.global_avg_pool(y), "b")});
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0"));
}

TEST(InsertionPoints, SqueezeAndExciteMultipliesIntegers) {
  Builder b;
  ValueId y = b.relu(conv(b, image(b), "a"));
  ValueId gate = b.hard_sigmoid(conv(b, b.relu(conv(b, b.global_avg_pool(y), "s1")), "s2"));
  Graph graph = b.build({conv(b, b.mul(y, gate), "b")});
  EXPECT_THAT(layers(graph), ElementsAre("a", "s1", "s2", "b"));
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "conv2d:0", "mul:0", "mul:1", "conv2d:0"));
}

TEST(InsertionPoints, LayersThatShareAWeightShareItsAxis) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4});
  ValueId w = b.constant("w", ramp({4, 4}, 3));
  ValueId y = b.matmul(x, w);
  Graph same = b.build({b.matmul(y, w)});
  EXPECT_THAT(layers(same), ElementsAre("w", "w"));
  EXPECT_THAT(find_insertion_points(same, {}).layers[1].axis, 1);

  Builder c;
  x = c.input("x", {kUnknown, 4});
  w = c.constant("w", ramp({4, 4}, 3));
  Graph other = c.build({c.matmul(c.matmul(x, w), w, {.transpose_y = true})});
  EXPECT_THAT(layers(other), ElementsAre("w")) << "its channels lie along another axis in the second";
}

TEST(InsertionPoints, AProductOfActivationsHasNoWeights) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 4});
  Graph graph = b.build({b.matmul(x, b.relu(x))});
  InsertionPoints points = find_insertion_points(graph, for_paddle());
  ASSERT_EQ(points.layers.size(), 1u);
  EXPECT_FALSE(points.layers[0].weights);
  EXPECT_THAT(readers(graph, for_paddle()), ElementsAre("matmul:0", "matmul:1"));
  EXPECT_THAT(readers(graph), IsEmpty()) << "octet has no integer kernel for it";
}

// What PP-LCNetV3 has behind its activations, and no epilogue takes in.
ValueId affine(Builder& b, ValueId x, const std::string& name) {
  ValueId scaled = b.mul(b.constant(name + ".s", Tensor::of<float>({1}, {1.5f})), x);
  return b.add(scaled, b.constant(name + ".b", Tensor::of<float>({1}, {-0.1f})));
}

TEST(InsertionPoints, ADepthwiseLayerThatReadsFloatsFromMemoryStaysInFloat) {
  Builder b;
  ValueId y = b.hard_swish(conv(b, image(b), "a"));
  ValueId integers = conv(b, y, "b", 4, 4, 4);
  ValueId floats = conv(b, affine(b, b.hard_swish(integers), "f"), "c", 4, 4, 4);
  Graph graph = b.build({conv(b, affine(b, b.hard_swish(floats), "g"), "d")});
  EXPECT_THAT(layers(graph), ElementsAre("a", "b", "d"));
  EXPECT_THAT(layers(graph, for_paddle()), ElementsAre("a", "b", "c", "d"));
}

TEST(InsertionPoints, ATransposedLayerThatMakesOneChannelStaysInFloat) {
  Builder b;
  const auto up = [&](ValueId x, const std::string& name, std::int64_t out) {
    return b.conv2d_transpose(x, b.constant(name, ramp({4, out, 2, 2}, 3)), {.strides = {2, 2}});
  };
  Graph graph = b.build({up(b.relu(up(image(b), "a", 4)), "b", 1)});
  EXPECT_THAT(layers(graph), ElementsAre("a"));
  EXPECT_THAT(layers(graph, for_paddle()), ElementsAre("a", "b"));
}

TEST(InsertionPoints, AProductOfFloatsFromMemoryStaysInFloat) {
  Builder b;
  ValueId y = affine(b, b.relu(conv(b, image(b), "a")), "f");
  ValueId gate = b.hard_sigmoid(conv(b, b.relu(conv(b, b.global_avg_pool(y), "s1")), "s2"));
  ValueId gated = b.mul(y, gate);
  Graph graph = b.build({conv(b, b.add(gated, b.relu(conv(b, gated, "c"))), "b")});
  // Neither does the sum, which reads what the product made.
  EXPECT_THAT(readers(graph), ElementsAre("conv2d:0", "conv2d:0", "conv2d:0", "conv2d:0", "conv2d:0"));
}

TEST(InsertionPoints, PaddleGetsTheInputsOfLayersOnly) {
  Builder b;
  ValueId first = b.relu(conv(b, image(b), "a"));
  ValueId sum = b.add(conv(b, first, "b", 4, 4, 4), first);
  Graph graph = b.build({conv(b, b.max_pool(sum, {.kernel = {2, 2}}), "c")});
  EXPECT_THAT(layers(graph, for_paddle()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(readers(graph, for_paddle()), ElementsAre("conv2d:0", "conv2d:0", "conv2d:0"));
  InsertionPointOptions options = for_paddle();
  options.op_types = {"depthwise_conv2d"};
  EXPECT_THAT(layers(graph, options), ElementsAre("b"));
  options.op_types = {"conv2d", "elementwise_add"};
  EXPECT_THAT(readers(graph, options), ElementsAre("conv2d:0", "add:0", "add:1", "conv2d:0"));
  options = for_paddle();
  options.everything = true;
  EXPECT_THAT(readers(graph, options), UnorderedElementsAre("conv2d:0", "relu:0", "conv2d:0", "add:0",
                                                            "add:1", "pool2d:0", "conv2d:0"));
}

TEST(InsertionPoints, WhatIsKeptInFloat) {
  Builder b;
  ValueId first = b.relu(conv(b, image(b), "stem.w"));
  ValueId biased = b.add(conv(b, first, "middle.w"), b.constant("middle.b", ramp({4}, 1)), 1);
  b.rename(biased, "middle");
  Graph graph = b.build({b.matmul(b.flatten(b.relu(biased)), b.constant("fc.w", ramp({256, 5}, 2)))});
  auto without = [&](std::vector<std::string> keep, std::vector<std::string> skip = {}) {
    InsertionPointOptions options;
    options.keep_float = std::move(keep);
    options.skip_tensors = std::move(skip);
    return layers(graph, options);
  };
  EXPECT_THAT(without({"stem*"}), ElementsAre("middle.w", "fc.w")) << "by the weight";
  EXPECT_THAT(without({"middle"}), ElementsAre("stem.w", "fc.w")) << "by the output, bias included";
  EXPECT_THAT(without({"matmul_v2"}), ElementsAre("stem.w", "middle.w")) << "by Paddle's op";
  EXPECT_THAT(without({}, {"x"}), ElementsAre("middle.w", "fc.w")) << "by the tensor that is read";
  EXPECT_THAT(error_of([&] { without({"steam*"}); }),
              ::testing::AllOf(HasSubstr("keep_float steam*"), HasSubstr("conv2d_0")));
  EXPECT_THAT(error_of([&] { without({}, {"y"}); }), HasSubstr("skip_tensor_list y"));
}

}  // namespace
}  // namespace octet::quant
