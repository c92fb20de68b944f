#include "formats/paddle3/model_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/paddle3/program.h"
#include "formats/paddle3/spelling.h"
#include "formats/paddle_common/params.h"
#include "passes/passes.h"
#include "support/damage.h"
#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet::paddle3 {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ModelPaths paths_in(const TempDir& dir) {
  return {dir / "inference.json", dir / "inference.pdiparams"};
}

void save_model(const Graph& graph, const ModelPaths& paths) {
  AtomicFiles files;
  paddle3::add_model(files, graph, paths);
  files.commit();
}

std::string floats(const Shape& dims) {
  return type_text(DType::kFloat32, dims);
}

std::string data_op(Id id, const Shape& dims) {
  return op_text("1.data", {},
                 {{"name", Tag::kText, std::string("x")},
                  {"shape", Tag::kIntArray, dims},
                  {"dtype", Tag::kDType, std::string("float32")},
                  {"place", Tag::kPlace}},
                 {{id, floats(dims)}});
}

std::string fetch_op(Id id, Id out, const std::string& name = "fetch_name_0", std::int64_t column = 0) {
  return op_text("1.fetch", {id}, {{"name", Tag::kText, name}, {"col", Tag::kInt32, column}},
                 {{out, floats({-1, 4})}});
}

Graph load_text(const std::string& text) {
  TempDir dir;
  write_file(dir / "inference.json", text);
  return paddle3::load_model(paths_in(dir));
}

Graph load_ops(const std::vector<std::string>& ops) {
  return load_text(program_text(ops, nullptr));
}

// What another tool may write: an op with a block inside, which reads a value from outside of it.
std::string foreign_program() {
  const std::string inner = op_text("1.frob", {7, 3}, {}, {{8, floats({-1, 4})}});
  const std::string loop = R"({"#":"1.while","A":[],"I":[{"%":2}],"O":[{"%":9,"TT":)" + floats({-1, 4}) +
                           R"(}],"regions":[{"#":"region_1","blocks":[{"#":"block_1","args":[{"#":7,"TT":)" +
                           floats({-1, 4}) + R"(}],"ops":[)" + inner + "]}]}]}";
  return program_text(
      {data_op(1, {-1, 4}),
       op_text("1.relu", {1}, {{"struct_name", Tag::kText, std::string("/ReLU/")}}, {{2, floats({-1, 4})}}),
       op_text("1.sigmoid", {1}, {}, {{3, floats({-1, 4})}}), loop, fetch_op(9, 10)},
      nullptr);
}

TEST(Paddle3ModelIo, ReadsWhatItWrites) {
  TempDir dir;
  const Graph graph = small_network();
  save_model(graph, paths_in(dir));
  const Graph read = paddle3::load_model(paths_in(dir));
  const Tensor x = ramp({2, 3, 8, 8}, 9);
  EXPECT_EQ(values<float>(run_graph(graph, {x})[0]), values<float>(run_graph(read, {x})[0]));
  EXPECT_EQ(read.value(read.inputs[0]).name, "x");
  EXPECT_EQ(read.value(read.inputs[0]).shape, (Shape{kUnknown, 3, 8, 8}));
  EXPECT_EQ(read.value(read.outputs[0]).name, graph.value(graph.outputs[0]).name);
  EXPECT_EQ(read.nodes.size(), graph.nodes.size());
}

TEST(Paddle3ModelIo, WritesTheSameBytesWhenNothingChanged) {
  TempDir dir, copy;
  save_model(small_network(), paths_in(dir));
  save_model(paddle3::load_model(paths_in(dir)), paths_in(copy));
  EXPECT_EQ(read_file(dir / "inference.json"), read_file(copy / "inference.json"));
  EXPECT_EQ(read_file(dir / "inference.pdiparams"), read_file(copy / "inference.pdiparams"));
}

TEST(Paddle3ModelIo, KeepsWhatItDoesNotKnow) {
  TempDir dir, copy;
  write_file(dir / "inference.json", foreign_program());
  Graph graph = paddle3::load_model(paths_in(dir));
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[2].op, "paddle3:while");
  EXPECT_EQ(graph.nodes[2].inputs.size(), 2u);  // the value that its block reads is not dead
  EXPECT_THAT(error_of([&] { run_graph(graph, {ramp({1, 4})}); }), HasSubstr("while"));
  save_model(graph, paths_in(copy));
  EXPECT_EQ(read_file(copy / "inference.json"), foreign_program());
  EXPECT_FALSE(std::filesystem::exists(copy / "inference.pdiparams"));

  remove_dead_nodes(graph);
  EXPECT_EQ(graph.nodes.size(), 3u);
}

TEST(Paddle3ModelIo, KeepsTheOtherOpsWhenOneChanges) {
  TempDir dir, copy;
  write_file(dir / "inference.json", foreign_program());
  Graph graph = paddle3::load_model(paths_in(dir));
  graph.nodes[0].op = "tanh";
  save_model(graph, paths_in(copy));
  const std::string text = read_file(copy / "inference.json"), original = foreign_program();
  const Program program = parse_program(text), before = parse_program(original);
  ASSERT_EQ(program.ops.size(), 5u);
  EXPECT_EQ(program.ops[1].name, "1.tanh");
  EXPECT_EQ(program.ops[1].outputs[0].id, 2);
  for (const std::size_t i : {0, 2, 3, 4}) EXPECT_EQ(program.ops[i].text, before.ops[i].text) << i;
  EXPECT_EQ(paddle3::load_model(paths_in(copy)).nodes[2].op, "paddle3:while");
}

TEST(Paddle3ModelIo, WritesChangedParametersAndLeavesOutUnusedOnes) {
  TempDir dir, copy;
  save_model(small_network(), paths_in(dir));
  Graph graph = paddle3::load_model(paths_in(dir));
  graph.value(graph.find_value("fc.b")).constant = ramp({5}, 77);
  graph.add_constant("unused", ramp({100}));
  save_model(graph, paths_in(copy));
  const Graph read = paddle3::load_model(paths_in(copy));
  EXPECT_EQ(values<float>(read.value(read.find_value("fc.b")).constant.aligned()),
            values<float>(ramp({5}, 77)));
  EXPECT_EQ(values<float>(read.value(read.find_value("conv.w")).constant.aligned()),
            values<float>(ramp({4, 3, 3, 3})));
  EXPECT_EQ(read.find_value("unused"), kNoValue);
}

// A bias: reshaped to lie along the channels in the file, an axis in the graph.
TEST(Paddle3ModelIo, ABiasKeepsItsAxis) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  const ValueId conv = b.conv2d(x, b.constant("w", ramp({4, 3, 1, 1})));
  const Graph graph = b.build({b.add(conv, b.constant("b", ramp({4}, 2)), 1)});
  TempDir dir;
  save_model(graph, paths_in(dir));
  const Graph read = paddle3::load_model(paths_in(dir));
  ASSERT_EQ(read.nodes.size(), 2u);
  EXPECT_EQ(attr<std::int64_t>(read.nodes[1], "axis"), 1);
  EXPECT_EQ(read.value(read.nodes[1].inputs[1]).name, "b");
  const Tensor image = ramp({2, 3, 4, 5}, 9);
  EXPECT_EQ(values<float>(run_graph(graph, {image})[0]), values<float>(run_graph(read, {image})[0]));
}

// Sizes that only a run knows: shape, slice, stack, reshape.
TEST(Paddle3ModelIo, ReadsComputedShapes) {
  const std::string number = type_text(DType::kInt64, {}), pair = type_text(DType::kInt64, {2});
  const auto ints = [&](Id id, std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return op_text("1.full_int_array", {}, {{"value", Tag::kInt64s, std::move(values)}},
                   {{id, type_text(DType::kInt64, {count})}});
  };
  const Graph graph =
      load_ops({data_op(1, {-1, 2, -1}), op_text("1.shape64", {1}, {}, {{2, type_text(DType::kInt64, {3})}}),
                ints(3, {0}), ints(4, {1}),
                op_text("1.slice", {2, 3, 4},
                        {{"axes", Tag::kInt64s, std::vector<std::int64_t>{0}},
                         {"infer_flags", Tag::kInt64s, std::vector<std::int64_t>{1}},
                         {"decrease_axis", Tag::kInt64s, std::vector<std::int64_t>{0}}},
                        {{5, number}}),
                op_text("1.full", {},
                        {{"shape", Tag::kIntArray, std::vector<std::int64_t>{}},
                         {"value", Tag::kFloat64, -1.0},
                         {"dtype", Tag::kDType, std::string("int64")}},
                        {{6, number}}),
                op_text("0.combine", {5, 6}, {}, {{7, list_text({number, number})}}),
                op_text("1.stack", {7}, {{"axis", Tag::kInt32, std::int64_t{0}}}, {{8, pair}}),
                op_text("1.reshape", {1, 8}, {}, {{9, floats({-1, -1})}}), fetch_op(9, 10),
                fetch_op(8, 11, "sizes", 1)});
  const std::vector<Tensor> results = run_graph(graph, {ramp({3, 2, 5})});
  EXPECT_EQ(results[0].shape(), (Shape{3, 10}));
  EXPECT_EQ(values<std::int64_t>(results[1]), (std::vector<std::int64_t>{3, -1}));
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "sizes");
}

// Scales and integers come back as they were, in the form that Paddle 3 runs right.
TEST(Paddle3ModelIo, QuantizedModelsComeBackAsQuantizeAndDequantize) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 6, 6});
  const ValueId scale = b.constant("x.scale", Tensor::of<float>({1}, {0.9f}));
  const ValueId weight_scale = b.constant("w.scale", Tensor::of<float>({4}, {0.1f, 0.2f, 0.3f, 0.4f}));
  Tensor integers(DType::kInt8, {4, 3, 3, 3});
  for (std::size_t i = 0; i < integers.size_bytes(); ++i)
    integers.mutable_data<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
  const ValueId weights = b.op("dequantize", {b.constant("w", integers), weight_scale}, {{"axis", 0}});
  const ValueId image = b.op("dequantize", {b.op("quantize", {x, scale}, {{"dtype", "float32"}}), scale});
  const Graph graph = b.build({b.conv2d(image, weights)});
  TempDir dir;
  save_model(graph, paths_in(dir));
  const std::string text = read_file(dir / "inference.json");
  EXPECT_THAT(text, HasSubstr("fake_quantize_dequantize_moving_average_abs_max"));
  EXPECT_THAT(text, HasSubstr("fake_channel_wise_dequantize_max_abs"));
  EXPECT_THAT(text, Not(HasSubstr("e_linear")));
  const Graph read = paddle3::load_model(paths_in(dir));
  std::vector<std::string> ops;
  for (const Node& node : read.nodes) ops.push_back(node.op);
  EXPECT_THAT(ops, ::testing::UnorderedElementsAre("dequantize", "quantize", "dequantize", "conv2d"));
  EXPECT_EQ(read.value(read.find_value("w")).dtype, DType::kInt8);
  for (const Node& node : read.nodes)  // images must be known as such: layouts depend on it
    EXPECT_EQ(read.value(node.outputs[0]).shape.size(), 4u) << node.op;
  const Tensor picture = ramp({2, 3, 6, 6}, 3);
  for (const bool ir_optim : {false, true})
    EXPECT_EQ(values<float>(run_graph(graph, {picture}, ir_optim)[0]),
              values<float>(run_graph(read, {picture}, ir_optim)[0]));
}

// Widths of numbers changed between versions; new ops are written in that of the file.
TEST(Paddle3ModelIo, WritesTheTagsOfTheFilesVersion) {
  std::string text = program_text(
      {data_op(1, {-1, 4}), op_text("1.relu", {1}, {}, {{2, floats({-1, 4})}}), fetch_op(2, 3)}, nullptr);
  for (const auto& [version, tag] : {std::pair{"1", "0.a_f32"}, {"4", "0.a_f64"}}) {
    TempDir dir, copy;
    std::string versioned = text;
    const std::string old = "\"version\":1";
    versioned.replace(versioned.find(old), old.size(), fmt::format("\"version\":{}", version));
    write_file(dir / "inference.json", versioned);
    Graph graph = paddle3::load_model(paths_in(dir));
    graph.nodes[0].op = "leaky_relu";
    graph.nodes[0].attrs["alpha"] = 0.5;
    save_model(graph, paths_in(copy));
    EXPECT_THAT(read_file(copy / "inference.json"),
                HasSubstr(fmt::format(R"({{"#":"{}","D":0.5}},"N":"negative_slope")", tag)));
  }
}

TEST(Paddle3ModelIo, SurvivesDamagedPrograms) {
  TempDir dir, bad;
  save_model(small_network(), paths_in(dir));
  write_file(bad / "inference.pdiparams", read_file(dir / "inference.pdiparams"));
  const auto read = [&](const std::string& content) {
    write_file(bad / "inference.json", content);
    Graph graph = paddle3::load_model(paths_in(bad));
    try {
      run_graph(graph, {ramp({1, 3, 8, 8})}, true);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    }
  };
  expect_survives_damage(read_file(dir / "inference.json"), read, 64, 400);
}

TEST(Paddle3ModelIo, SurvivesDamagedParameters) {
  TempDir dir, bad;
  save_model(small_network(), paths_in(dir));
  write_file(bad / "inference.json", read_file(dir / "inference.json"));
  const auto read = [&](const std::string& content) {
    write_file(bad / "inference.pdiparams", content);
    paddle3::load_model(paths_in(bad));
  };
  expect_survives_damage(read_file(dir / "inference.pdiparams"), read, 64, 400);
}

// One long list, used by many ops, must not be copied for each.
TEST(Paddle3ModelIo, RefusesListsThatAreUsedOverAndOver) {
  std::vector<std::string> ops = {data_op(1, {-1, 4})};
  ops.push_back(op_text("1.full_int_array", {},
                        {{"value", Tag::kInt64s, std::vector<std::int64_t>(20000, 1)}},
                        {{2, type_text(DType::kInt64, {20000})}}));
  for (Id id = 3; id < 5000; ++id) ops.push_back(op_text("1.reshape", {1, 2}, {}, {{id, floats({-1})}}));
  ops.push_back(fetch_op(3, 5000));
  std::size_t copied = 0;
  for (const Node& node : load_ops(ops).nodes)
    if (node.attrs.contains("shape")) copied += attr<std::vector<std::int64_t>>(node, "shape").size();
  EXPECT_LT(copied, 1000000u);
  std::vector<Id> many(20000, 1);
  ops = {data_op(1, {-1, 4}), op_text("0.combine", many, {}, {{2, list_text({})}})};
  for (Id id = 3; id < 5000; ++id) ops.push_back(op_text("1.unknown", {2}, {}, {{id, floats({-1})}}));
  ops.push_back(fetch_op(3, 5000));
  EXPECT_THAT(error_of([&] { load_ops(ops); }), HasSubstr("it uses long lists too often"));
}

TEST(Paddle3ModelIo, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) { return error_of([&] { load_text(text); }); };
  const auto error_with = [](const std::vector<std::string>& ops) {
    return error_of([&] { load_ops(ops); });
  };
  const std::string input = data_op(1, {-1, 4});
  EXPECT_THAT(error(""), HasSubstr("inference.json: not a Paddle 3 model: it is cut off at byte 0"));
  EXPECT_THAT(error("{}"), HasSubstr("not a Paddle 3 model: it has no base_code"));
  EXPECT_THAT(error(R"({"base_code":{"magic":"onnx","version":1}})"),
              HasSubstr("has not the magic word pir"));
  EXPECT_THAT(error(R"({"base_code":{"magic":"pir","version":1}})"), HasSubstr("it has no ops"));
  EXPECT_THAT(error_with({input}), HasSubstr("it has no fetch op, so no outputs"));
  EXPECT_THAT(error_with({input, fetch_op(5, 6)}), HasSubstr("value 5 is used before anything defines it"));
  EXPECT_THAT(error_with({input, input, fetch_op(1, 6)}), HasSubstr("value 1 is defined twice"));
  EXPECT_THAT(error_with({input, data_op(2, {-1, 4}), fetch_op(1, 6)}), HasSubstr("two values are named x"));
  EXPECT_THAT(error_with({parameter_text("w", 1, DType::kFloat32, {4}), fetch_op(1, 2)}),
              HasSubstr("inference.pdiparams: no such file, and the model has 1 parameters"));
  EXPECT_THAT(error_with({parameter_text("w", 1, DType::kFloat32, {4}),
                          parameter_text("w", 2, DType::kFloat32, {4})}),
              HasSubstr("variable w is declared twice"));
  EXPECT_THAT(error_with({parameter_text("w\n", 1, DType::kFloat32, {4})}), HasSubstr("control characters"));
  const std::string second = R"(,{"#":"region_1","blocks":[{"#":"b","args":[],"ops":[]}]}]}})";
  std::string text = program_text({input, fetch_op(1, 2)}, nullptr);
  text.replace(text.size() - 3, 3, second);
  EXPECT_THAT(error(text), HasSubstr("it has several regions or blocks"));
}

// An op that octet knows, in a way that it does not: the reason is said when it is run, not before.
TEST(Paddle3ModelIo, WhatIsNotReadIsAReasonNotACrash) {
  const auto pool = [](const std::string& layout) {
    const std::vector<std::int64_t> two = {2, 2}, none = {0, 0};
    return load_ops({data_op(1, {-1, 3, 8, 8}),
                     op_text("1.full_int_array", {}, {{"value", Tag::kInt64s, two}},
                             {{2, type_text(DType::kInt64, {2})}}),
                     op_text("1.pool2d", {1, 2},
                             {{"strides", Tag::kInt64s, two},
                              {"paddings", Tag::kInt64s, none},
                              {"data_format", Tag::kText, layout}},
                             {{3, floats({-1, 3, 4, 4})}}),
                     fetch_op(3, 4)});
  };
  EXPECT_EQ(run_graph(pool("NCHW"), {ramp({1, 3, 8, 8})})[0].shape(), (Shape{1, 3, 4, 4}));
  EXPECT_THAT(error_of([&] {
                run_graph(pool("NHWC"), {ramp({1, 3, 8, 8})});
              }),
              HasSubstr("data_format is NHWC, octet reads NCHW"));
}

}  // namespace
}  // namespace octet::paddle3
