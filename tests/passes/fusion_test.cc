#include <gtest/gtest.h>

#include "kernels/ref/ref.h"
#include "passes/passes.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

// Each pass finds its pattern, leaves alone what only looks like it, and the outputs stay the same.
namespace octet {
namespace {

using namespace octet::testing;

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.op == op;
  return n;
}

const Node& find(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes)
    if (node.op == op) return node;
  fail("no {} in the graph", op);
}

bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, Tensor* output) {
  ThreadPool pool(1);
  ref::find(node.op)->run({node, inputs, {output, 1}, pool});
  return true;
}

void expect_same(const Graph& before, const Graph& after, const std::vector<Tensor>& inputs,
                 float tolerance = 0) {
  verify(after);
  std::vector<Tensor> expected = run_graph(before, inputs), found = run_graph(after, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    std::vector<float> a = values<float>(found[i]), b = values<float>(expected[i]);
    for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], b[j], tolerance) << i << " " << j;
  }
}

ValueId conv(Builder& b, ValueId x, std::int64_t in, std::int64_t out, const std::string& name,
             std::int64_t stride = 1) {
  return b.conv2d(x, b.constant(name, ramp({out, in, 3, 3}, static_cast<std::uint32_t>(out) + 3)),
                  {.strides = {stride, stride}, .paddings = {1, 1, 1, 1}});
}

ValueId norm(Builder& b, ValueId x, std::int64_t channels, const std::string& name) {
  Tensor variance = ramp({channels}, 9);
  for (float& v : variance.mutable_data<float>()) v = v * v + 0.5f;
  return b.batch_norm(x, b.constant(name + ".s", ramp({channels}, 5)),
                      b.constant(name + ".b", ramp({channels}, 6)),
                      b.constant(name + ".m", ramp({channels}, 7)), b.constant(name + ".v", variance));
}

TEST(FoldBatchNorm, GoesIntoWeightsAndBias) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId y = norm(b, conv(b, x, 3, 4, "w"), 4, "bn");
  ValueId up = b.conv2d_transpose(y, b.constant("t", ramp({4, 5, 2, 2}, 3)),
                                  {.strides = {2, 2}, .bias = b.constant("tb", ramp({5}, 8))});
  Graph before = b.build({norm(b, up, 5, "bn2")}), after = before;
  fold_batch_norm(after);
  EXPECT_EQ(count(after, "batch_norm"), 0);
  expect_same(before, after, {ramp({2, 3, 7, 6})}, 2e-6f);
}

TEST(FoldBatchNorm, NotWhenOthersReadTheConvolution) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = conv(b, x, 3, 4, "w");
  Graph before = b.build({norm(b, y, 4, "bn"), b.relu(y)}), after = before;
  fold_batch_norm(after);
  EXPECT_EQ(count(after, "batch_norm"), 1);
  expect_same(before, after, {ramp({1, 3, 8, 8})});
}

TEST(FoldBatchNorm, TakesOtherScalingsToo) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = norm(b, conv(b, x, 3, 4, "w"), 4, "bn");
  y = b.add(b.mul(b.constant("a", Tensor::of<float>({1}, {1.25f})), y),
            b.constant("b", Tensor::of<float>({1}, {-0.5f})));
  y = b.mul(y, b.constant("c", ramp({4}, 12)), 1);
  y = b.mul(y, b.constant("d", ramp({8}, 13)));  // along the width: stays
  Graph before = b.build({y}), after = before;
  fold_batch_norm(after);
  EXPECT_EQ(after.nodes.size(), 2u);
  expect_same(before, after, {ramp({2, 3, 8, 8})}, 4e-6f);
}

TEST(FuseScale, OneNodeForTwoNumbers) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = b.mul(b.constant("a", Tensor::of<float>({1}, {1.25f})), b.relu(x));
  y = b.add(y, b.constant("b", Tensor::of<float>({1}, {-0.3f})));
  ValueId z = b.add(b.mul(b.sigmoid(y), b.constant("c", ramp({8}, 2))), b.constant("d", ramp({1})));
  Graph before = b.build({z}), after = before;
  fuse_scale(after);
  EXPECT_EQ(count(after, "scale"), 1);
  EXPECT_EQ(count(after, "mul"), 1);
  expect_same(before, after, {ramp({2, 3, 8, 8})});
}

TEST(FuseBias, TakesAConstantPerChannel) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = b.add(conv(b, x, 3, 4, "w"), b.constant("a", ramp({1, 4, 1, 1}, 2)));
  y = b.add(conv(b, y, 4, 6, "w2"), b.constant("c", ramp({6}, 3)), 1);
  ValueId row = b.add(conv(b, y, 6, 8, "w3"), b.constant("d", ramp({8}, 4)));  // along the width: no bias
  ValueId flat = b.op("flatten", {row});
  ValueId z = b.add(b.matmul(flat, b.constant("m", ramp({512, 5}, 5))), b.constant("e", ramp({5}, 6)));
  Graph before = b.build({z}), after = before;
  fuse_bias(after);
  EXPECT_EQ(count(after, "add"), 1);
  expect_same(before, after, {ramp({2, 3, 8, 8})}, 1e-5f);
}

TEST(FuseResidual, TheLaterConvolutionTakesTheSum) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, kUnknown, kUnknown});
  ValueId main = conv(b, x, 4, 6, "w"), side = conv(b, x, 4, 6, "v");
  ValueId y = b.relu(b.add(main, side));
  ValueId pooled = b.op("pool2d", {y}, {{"type", "avg"}, {"global", true}});
  ValueId z = b.add(conv(b, y, 6, 6, "u"), pooled);  // broadcasts: no residual
  Graph before = b.build({z}), after = before;
  fuse_residual(after);
  EXPECT_EQ(count(after, "add"), 1);
  expect_same(before, after, {ramp({2, 4, 9, 7})}, 1e-6f);
}

TEST(FuseActivation, TakesEveryFunctionWithItsNumbers) {
  const std::pair<const char*, Attrs> functions[] = {{"relu", {}},
                                                     {"relu6", {{"threshold", 0.5}}},
                                                     {"hard_swish", {}},
                                                     {"hard_sigmoid", {{"slope", 0.1666667}}},
                                                     {"swish", {}},
                                                     {"sigmoid", {}},
                                                     {"leaky_relu", {{"alpha", 0.1}}}};
  for (const auto& [op, attrs] : functions) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 3, 8, 8});
    ValueId y = b.op(op, {conv(b, x, 3, 4, "w")}, attrs);
    y = b.op(op, {b.add(y, b.op("pool2d", {y}, {{"global", true}}))}, attrs);
    Graph before = b.build({y}), after = before;
    fuse_activation(after);
    EXPECT_EQ(count(after, op), 0) << op;
    EXPECT_EQ(attr<std::string>(find(after, "conv2d"), "activation"), op);
    expect_same(before, after, {ramp({1, 3, 8, 8})});
  }
}

TEST(FuseQuantize, GivesIntegersAndWhereNeededFloats) {
  for (bool others_read : {false, true}) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 3, 8, 8});
    ValueId y = b.relu(conv(b, x, 3, 4, "w"));
    ValueId scale = b.constant("s", Tensor::of<float>({1}, {1.5f}));
    ValueId z = b.op("dequantize", {b.op("quantize", {y, scale}), scale});
    ValueId again = b.op("dequantize", {b.op("quantize", {y, scale}), scale});
    std::vector<ValueId> outputs = {b.relu(z), b.relu(again)};
    if (others_read) outputs.push_back(b.op("pool2d", {y}, {{"global", true}}));
    Graph before = b.build(outputs), after = before;
    fuse_activation(after);
    fuse_quantize(after);
    EXPECT_EQ(count(after, "quantize"), 0);
    EXPECT_EQ(find(after, "conv2d").outputs.size(), others_read ? 2u : 1u);
    expect_same(before, after, {ramp({1, 3, 8, 8})});
  }
}

TEST(HoistQuantize, GoesInFrontOfAMaxPool) {
  for (const char* type : {"max", "avg"})
    for (bool others_read : {false, true}) {
      Builder b;
      ValueId x = b.relu(b.input("x", {kUnknown, 3, 8, 8}));
      ValueId pool = b.op("pool2d", {x}, {{"kernel", Ints{3, 3}}, {"type", std::string(type)}});
      ValueId scale = b.constant("s", Tensor::of<float>({1}, {3.0f}));
      std::vector<ValueId> outputs = {b.op("dequantize", {b.op("quantize", {pool, scale}), scale})};
      if (others_read) outputs.push_back(b.sigmoid(x));
      Graph before = b.build(outputs), after = before;
      hoist_quantize(after);
      EXPECT_EQ(count(after, "qpool2d"), type == std::string("max") && !others_read ? 1 : 0);
      expect_same(before, after, {ramp({1, 3, 8, 8})});
    }
}

TEST(FoldScale, GoesIntoTheConvolutionBehindIt) {
  struct Case {
    Shape weight;
    std::int64_t pad;
    bool folds;
  };
  for (const Case& c : {Case{{5, 4, 1, 1}, 0, true}, {{5, 4, 1, 1}, 1, false}, {{5, 4, 3, 3}, 0, false}})
    for (bool with_bias : {false, true}) {
      Builder b;
      ValueId y =
          b.op("scale", {b.relu(b.input("x", {kUnknown, 4, 6, 6}))}, {{"scale", 0.5}, {"bias", 0.25}});
      std::vector<ValueId> inputs = {y, b.constant("w", ramp(c.weight))};
      if (with_bias) inputs.push_back(b.constant("b", ramp({5})));
      Graph before = b.build({b.op("conv2d", inputs, {{"paddings", Ints{c.pad, c.pad, c.pad, c.pad}}})});
      Graph after = before;
      fold_scale(after);
      remove_dead_nodes(after);
      EXPECT_EQ(count(after, "scale"), c.folds ? 0 : 1);
      expect_same(before, after, {ramp({1, 4, 6, 6})}, 1e-5f);
    }
}

// An image of `size` pixels a side, gated by what two layers make of its mean, in front of a convolution.
Graph squeeze_excite(std::int64_t size, std::int64_t kernel, bool gate_first) {
  Builder b;
  ValueId image = b.relu(b.input("x", {kUnknown, 6, size, size}));
  ValueId mean = b.op("pool2d", {image}, {{"type", "avg"}, {"global", true}});
  ValueId small = b.relu(b.conv2d(mean, b.constant("w1", ramp({3, 6, 1, 1}))));
  ValueId gate = b.op("hard_sigmoid", {b.conv2d(small, b.constant("w2", ramp({6, 3, 1, 1})))});
  ValueId gated = gate_first ? b.mul(gate, image) : b.mul(image, gate);
  ValueId y = b.conv2d(gated, b.constant("w3", ramp({20, 6, kernel, kernel})));
  return b.build({b.add(y, b.constant("b", ramp({1, 20, 1, 1})))});
}

TEST(FuseSqueezeExcite, TheConvolutionTakesTheGate) {
  struct Case {
    std::int64_t size, kernel;
    bool fuses;
  };
  for (const Case& c : {Case{7, 1, true}, {4, 1, false}, {7, 3, false}})  // 4 x 4 is less than 20 channels
    for (bool gate_first : {false, true}) {
      Graph before = squeeze_excite(c.size, c.kernel, gate_first), after = before;
      fuse_squeeze_excite(after);
      remove_dead_nodes(after);
      EXPECT_EQ(count(after, "mul"), c.fuses ? 0 : 1);
      expect_same(before, after, {ramp({3, 6, c.size, c.size})}, 1e-5f);
    }
}

TEST(FuseSqueezeExcite, AGateOfAllImagesStays) {
  Builder b;
  ValueId image = b.relu(b.input("x", {kUnknown, 6, 7, 7}));
  ValueId gate = b.op("reduce_mean", {image}, {{"axes", Ints{0, 2, 3}}, {"keepdims", true}});
  Graph before = b.build({b.conv2d(b.mul(image, gate), b.constant("w", ramp({5, 6, 1, 1})))}), after = before;
  fuse_squeeze_excite(after);
  EXPECT_EQ(after.nodes.back().inputs[0], after.nodes[2].outputs[0]);
  expect_same(before, after, {ramp({3, 6, 7, 7})});
}

TEST(FuseSqueezeExcite, AGateOfAnotherImageStays) {
  Builder b;
  ValueId image = b.relu(b.input("x", {kUnknown, 6, 7, 7}));
  ValueId gate = b.relu(b.input("gate", {kUnknown, 6, 1, 1}));
  ValueId y = b.conv2d(b.mul(image, gate), b.constant("w", ramp({5, 6, 1, 1})));
  Graph graph = b.build({y});
  fuse_squeeze_excite(graph);
  EXPECT_EQ(graph.nodes.back().inputs[0], graph.nodes[2].outputs[0]);
}

TEST(RemoveIdentities, KeepsTheNamesThatTheUserKnows) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 8});
  ValueId y = b.dropout(b.op("identity", {b.relu(x)}), 0.5);
  ValueId half = b.op("dropout", {y}, {{"p", 0.5}, {"mode", "downgrade_in_infer"}});
  Graph before = b.build({b.op("identity", {half}), b.op("observe", {b.sigmoid(y)}), b.op("identity", {half}),
                          b.op("identity", {x})}),
        after = before;
  remove_identities(after);
  EXPECT_EQ(after.nodes.size(), 5u);  // relu, dropout, sigmoid, and what gives a value a second name
  EXPECT_EQ(after.outputs, before.outputs);
  expect_same(before, after, {ramp({2, 8})});
}

TEST(FoldConstants, ComputesWhatDoesNotDependOnInputs) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 6, 6});
  ValueId bias = b.op("reshape", {b.constant("b", ramp({4}, 2))}, {{"shape", Ints{1, 4, 1, 1}}});
  ValueId weight = b.op("dequantize", {b.constant("w", ramp({4, 4, 1, 1}, 4).cast(DType::kInt8)),
                                       b.constant("s", Tensor::of<float>({1}, {1.0f}))});
  Graph before = b.build({b.add(b.conv2d(x, weight), b.relu(bias))}), after = before;
  fold_constants(after, evaluate, false);
  EXPECT_EQ(after.nodes.size(), 3u);  // the integers of weights stay
  expect_same(before, after, {ramp({1, 4, 6, 6})});
  fold_constants(after, evaluate, true);
  EXPECT_EQ(after.nodes.size(), 2u);
  expect_same(before, after, {ramp({1, 4, 6, 6})});
}

TEST(MarkRanges, FollowsWhatCannotBeNegative) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 6, 6});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {4.0f}));
  ValueId weight = b.constant("w", ramp({4, 4, 1, 1}, 4).cast(DType::kInt8));
  ValueId multiplier = b.constant("m", ramp({4}, 4));
  auto layer = [&](ValueId in, const char* activation) {
    return b.op("qconv2d", {in, weight, multiplier, kNoValue, scale},
                {{"activation", std::string(activation)}});
  };
  ValueId y = layer(b.op("quantize", {x, scale}), "relu");
  y = layer(b.op("qpool2d", {y}, {{"kernel", Ints{2, 2}}}), "hard_swish");
  y = layer(y, "");
  Graph graph = b.build({b.op("dequantize", {layer(y, ""), scale})});
  mark_ranges(graph);
  std::vector<std::int64_t> lows;
  for (const Node& node : graph.nodes)
    if (node.op == "qconv2d") lows.push_back(attr<std::int64_t>(node, "x_min"));
  // -0.375 / 4 * 127 = -11.9, rounded down with some room.
  EXPECT_EQ(lows, (Ints{-128, 0, -13, -128}));
}

// The largest of nothing is the lowest number, whatever the image holds.
TEST(MarkRanges, WindowsOfPaddingAloneMayHoldAnything) {
  auto low_behind = [](const Attrs& attrs) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 4, 6, 6});
    ValueId scale = b.constant("s", Tensor::of<float>({1}, {4.0f}));
    ValueId weight = b.constant("w", ramp({4, 4, 1, 1}, 4).cast(DType::kInt8));
    ValueId pooled = b.op("qpool2d", {b.op("quantize", {b.relu(x), scale})}, attrs);
    Graph graph = b.build({b.op("qconv2d", {pooled, weight, b.constant("m", ramp({4}, 4))})});
    mark_ranges(graph);
    return attr<std::int64_t>(graph.nodes.back(), "x_min");
  };
  const Attrs usual = {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}};
  EXPECT_EQ(low_behind(usual), 0);
  EXPECT_EQ(low_behind({{"kernel", Ints{2, 1}}, {"paddings", Ints{0, 0, 1, 0}}}), -128);
  EXPECT_EQ(low_behind({{"kernel", Ints{2, 2}},
                        {"strides", Ints{3, 1}},
                        {"paddings", Ints{1, 1, 0, 0}},
                        {"ceil_mode", true}}),
            -128);
}

TEST(LowerToInteger, WhatKeepsTheScaleStaysInIntegers) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 6, 6});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {1.0f}));
  auto q = [&](ValueId v) { return b.op("quantize", {v, scale}); };
  auto dq = [&](ValueId v) { return b.op("dequantize", {v, scale}); };
  ValueId a = dq(q(x));
  ValueId pooled = dq(q(b.op("pool2d", {a}, {{"kernel", Ints{2, 2}}})));
  ValueId sum = dq(q(b.add(pooled, pooled)));
  ValueId joined = dq(q(b.op("concat", {kNoValue, sum, pooled}, {{"axis", std::int64_t{1}}})));
  Graph before = b.build({b.relu(joined)}), after = before;
  lower_to_integer(after);
  remove_identities(after);
  remove_dead_nodes(after);
  EXPECT_EQ(count(after, "qpool2d"), 1);
  EXPECT_EQ(count(after, "qadd"), 1);
  EXPECT_EQ(count(after, "dequantize"), 1);
  expect_same(before, after, {ramp({1, 4, 6, 6})}, 1e-6f);
}

TEST(LowerToTable, AFunctionBetweenIntegersIsLookedUp) {
  for (const char* op : {"sigmoid", "hard_swish", "tanh", "leaky_relu"}) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 4, 6, 6});
    ValueId in = b.constant("in", Tensor::of<float>({1}, {1.0f})),
            out = b.constant("out", Tensor::of<float>({1}, {0.8f}));
    ValueId real = b.op("dequantize", {b.op("quantize", {x, in}), in});
    ValueId y = b.op("dequantize", {b.op("quantize", {b.op(op, {real}), out}), out});
    Graph before = b.build({b.relu(y)}), after = before;
    lower_to_table(after, evaluate);
    remove_dead_nodes(after);
    EXPECT_EQ(count(after, "qlut"), 1);
    EXPECT_EQ(count(after, op), 0);
    expect_same(before, after, {ramp({1, 4, 6, 6})});
  }
}

TEST(FuseArgMax, TakesTheResizeThatOnlyItReads) {
  struct Case {
    const char* mode;
    std::int64_t axis;
    bool last, read_twice, fuses;
  };
  constexpr Case kCases[] = {{"bilinear", 1, false, false, true},  {"bilinear", -3, false, false, true},
                             {"bilinear", 2, false, false, false}, {"nearest", 1, false, false, false},
                             {"bilinear", 1, true, false, false},  {"bilinear", 1, false, true, false}};
  for (const Case& c : kCases)
    for (bool keepdims : {false, true}) {
      Builder b;
      ValueId x = b.input("x", {kUnknown, 5, 6, 7});
      ValueId scores =
          b.op("resize", {x},
               {{"mode", std::string(c.mode)}, {"out_h", std::int64_t{13}}, {"out_w", std::int64_t{20}}});
      ValueId y =
          b.op("arg_max", {scores},
               {{"axis", c.axis}, {"last", c.last}, {"keepdims", keepdims}, {"dtype", std::string("int32")}});
      y = b.op("cast", {y}, {{"dtype", std::string("float32")}});
      Graph before = c.read_twice ? b.build({y, scores}) : b.build({y}), after = before;
      fuse_arg_max(after);
      EXPECT_EQ(count(after, "resize_arg_max"), c.fuses ? 1 : 0);
      EXPECT_EQ(count(after, "arg_max"), c.fuses ? 0 : 1);
      expect_same(before, after, {ramp({2, 5, 6, 7})});
    }
}

TEST(AssignLayouts, ReordersOnlyAtTheBorders) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId y = b.relu(conv(b, x, 3, 4, "w"));
  y = b.add(conv(b, y, 4, 4, "v"), y);
  Graph graph = b.build({b.op("flatten", {y}), y});
  assign_layouts(graph, [](const Node& node) {
    if (node.op == "conv2d") return LayoutNeed::kChannelsLast;
    return node.op == "flatten" ? LayoutNeed::kPlain : LayoutNeed::kSame;
  });
  verify(graph);
  EXPECT_EQ(count(graph, "reorder"), 2);  // the picture, and what leaves
  EXPECT_EQ(graph.value(graph.outputs[1]).layout, Layout::kPlain);
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "add_0");
}

}  // namespace
}  // namespace octet
