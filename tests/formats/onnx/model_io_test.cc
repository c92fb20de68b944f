#include "formats/onnx/model_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/onnx/onnx_files.h"
#include "graph/builder.h"
#include "graph/op_table.h"
#include "support/damage.h"
#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet::onnx {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void save(const Graph& graph, const std::filesystem::path& path, const SaveOptions& options = {}) {
  AtomicFiles files;
  onnx::add_model(files, graph, ModelPaths{path, {}}, options);
  files.commit();
}

Graph load(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return onnx::load_model(ModelPaths{path, {}}, options);
}

class Onnx : public ::testing::Test {
 protected:
  Graph load_bytes(const std::string& bytes, const LoadOptions& options = {}) {
    write_file(dir_ / "model.onnx", bytes);
    return load(dir_ / "model.onnx", options);
  }
  std::string error(const std::string& bytes) {
    return error_of([&] { load_bytes(bytes); });
  }

  TempDir dir_;
};

TEST_F(Onnx, AWrittenGraphRunsTheSame) {
  const Graph graph = small_network();
  const Tensor x = ramp({2, 3, 8, 8}, 9);
  const std::vector<float> expected = values<float>(run_graph(graph, {x})[0]);
  for (int opset : {13, 17, 18, 21}) {
    save(graph, dir_ / "model.onnx", {.opset = opset});
    const std::vector<float> found = values<float>(run_graph(load(dir_ / "model.onnx"), {x})[0]);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << opset;
  }
}

TEST_F(Onnx, WhatDidNotChangeIsWrittenByteForByte) {
  const std::string bytes = OnnxGraph{
      .nodes = {node_proto("Relu", {"x"}, {"y"})},
      .initializers = {float_tensor("unused", {2}, {1, 2})},
      .inputs = {value_proto("x", {-1, 3})},
      .outputs = {value_proto(
          "y", {-1, 3})}}.model(11);
  Graph graph = load_bytes(bytes);
  save(graph, dir_ / "copy.onnx");
  EXPECT_EQ(read_file(dir_ / "copy.onnx"), bytes);
  graph.nodes[0].op = "sigmoid";
  save(graph, dir_ / "copy.onnx");
  EXPECT_NE(read_file(dir_ / "copy.onnx"), bytes);
  EXPECT_EQ(load(dir_ / "copy.onnx").nodes[0].op, "sigmoid");
}

TEST_F(Onnx, AnUnknownOpSurvivesAndSaysWhyItCannotRun) {
  const std::string bytes = OnnxGraph{
      .nodes = {node_proto("Frobnicate", {"x"}, {"a"}, {int_attribute("k", 7)}, "com.example"),
                node_proto("Loop", {"", "", "a"}, {"b"}), node_proto("Relu", {"b"}, {"y"})},
      .initializers = {},
      .inputs = {value_proto("x", {3})},
      .outputs = {value_proto(
          "y", {3})}}.model();
  Graph graph = load_bytes(bytes);
  EXPECT_EQ(graph.nodes[0].op, "onnx:com.example.Frobnicate");
  EXPECT_EQ(graph.nodes[1].op, "onnx:Loop");
  EXPECT_THAT(error_of([&] { run_graph(graph, {ramp({3})}); }),
              HasSubstr("\"a\": it is of domain com.example, of which octet knows no ops"));
  graph.nodes.back().op = "tanh";  // so that it is written anew
  save(graph, dir_ / "copy.onnx");
  const Graph read = load(dir_ / "copy.onnx");
  EXPECT_EQ(read.nodes[0].op, "onnx:com.example.Frobnicate");
  EXPECT_THAT(read_file(dir_ / "copy.onnx"), HasSubstr(int_attribute("k", 7)));
  EXPECT_THAT(error_of([&] { save(graph, dir_ / "copy.onnx", {.opset = 21}); }), HasSubstr("opset 17"));
}

// Weights in Constant nodes, behind Identity and Transpose: constants all the same.
TEST_F(Onnx, ConstantsAreComputedOnTheWay) {
  const std::string constant = message([](pbf_writer& out) {
    out.add_string(1, "value");
    out.add_message(5, float_tensor("", {2, 3}, {1, 2, 3, 4, 5, 6}));
    out.add_enum(20, 4);
  });
  const Graph graph = load_bytes(OnnxGraph{
      .nodes = {node_proto("Constant", {}, {"w"}, {constant}), node_proto("Identity", {"w"}, {"v"}),
                node_proto("Transpose", {"v"}, {"t"}), node_proto("MatMul", {"x", "t"}, {"y"})},
      .initializers = {},
      .inputs = {value_proto("x", {1, 3})},
      .outputs = {
          value_proto("y", {1, 2})}}.model());
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_TRUE(graph.value(graph.nodes[0].inputs[1]).is_constant());
  EXPECT_THAT(values<float>(run_graph(graph, {Tensor::of<float>({1, 3}, {1, 10, 100})})[0]),
              ElementsAre(321, 654));
}

// IR 3: every initializer is an input as well, and only a default.
TEST_F(Onnx, InitializersAmongTheInputsAreConstants) {
  const Graph graph = load_bytes(OnnxGraph{
      .nodes = {node_proto("Add", {"x", "w"}, {"y"})},
      .initializers = {float_tensor("w", {2}, {1, 2})},
      .inputs = {value_proto("x", {2}), value_proto("w", {2})},
      .outputs = {
          value_proto("y", {2})}}.model());
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
}

TEST_F(Onnx, SoftmaxMeansAnotherThingBeforeOpset13) {
  for (std::int64_t opset : {11, 13}) {
    const Graph graph = load_bytes(OnnxGraph{
        .nodes = {node_proto("Softmax", {"x"}, {"y"}, {int_attribute("axis", 1)})},
        .initializers = {},
        .inputs = {value_proto("x", {1, 2, 2})},
        .outputs = {value_proto(
            "y", {1, 2, 2})}}.model(opset));
    const Tensor y = run_graph(graph, {Tensor::of<float>({1, 2, 2}, {0, 0, 0, 0})})[0];
    EXPECT_FLOAT_EQ(values<float>(y)[0], opset < 13 ? 0.25f : 0.5f);
  }
}

TEST_F(Onnx, BranchesOnConstantsAndFunctionsAreInlined) {
  const std::string then = OnnxGraph{
      .nodes = {node_proto("Neg", {"x"}, {"a"})},
      .initializers = {},
      .inputs = {},
      .outputs = {value_proto(
          "a", {2})}}.bytes();
  const std::string otherwise = OnnxGraph{
      .nodes = {node_proto("Exp", {"x"}, {"b"})},
      .initializers = {},
      .inputs = {},
      .outputs = {
          value_proto("b", {2})}}.bytes();
  const std::string truth = message([](pbf_writer& out) {
    tensor_head(out, "truth", {}, 9);
    out.add_int32(5, 1);
  });
  const std::string function = message([&](pbf_writer& out) {
    out.add_string(1, "Twice");
    out.add_string(4, "v");
    out.add_string(5, "w");
    out.add_message(7, node_proto("Add", {"v", "v"}, {"w"}));
    out.add_string(10, "my");
  });
  const Graph graph = load_bytes(OnnxGraph{
      .nodes = {node_proto("If", {"truth"}, {"z"},
                           {graph_attribute("then_branch", then), graph_attribute("else_branch", otherwise)}),
                node_proto("Twice", {"z"}, {"y"}, {}, "my")},
      .initializers = {truth},
      .inputs = {value_proto("x", {2})},
      .outputs = {
          value_proto("y", {2})}}.model(17, {function}));
  EXPECT_THAT(values<float>(run_graph(graph, {Tensor::of<float>({2}, {1, 2})})[0]), ElementsAre(-2, -4));
}

// A function that calls another twice, and so on, asks for more nodes than any file may.
TEST_F(Onnx, FunctionsDoNotUnfoldWithoutEnd) {
  std::vector<std::string> functions;
  for (int i = 0; i < 30; ++i)
    functions.push_back(message([&](pbf_writer& out) {
      out.add_string(1, "f" + std::to_string(i));
      out.add_string(4, "v");
      out.add_string(5, "w");
      const std::string next = "f" + std::to_string(i + 1);
      out.add_message(7, node_proto(next, {"v"}, {"u"}, {}, "my"));
      out.add_message(7, node_proto(next, {"u"}, {"w"}, {}, "my"));
      out.add_string(10, "my");
    }));
  EXPECT_THAT(error(OnnxGraph{.nodes = {node_proto("f0", {"x"}, {"y"}, {}, "my")},
                              .initializers = {},
                              .inputs = {value_proto("x", {2})},
                              .outputs = {value_proto("y", {2})}}
                        .model(17, functions)),
              HasSubstr("unfold to more nodes"));
}

TEST_F(Onnx, DeclaredShapesCanBeReplaced) {
  const std::string bytes = OnnxGraph{.nodes = {node_proto("Relu", {"x"}, {"y"})},
                                      .initializers = {},
                                      .inputs = {value_proto("x", {10, 3, 32, 32})},
                                      .outputs = {value_proto("y", {10, 3, 32, 32})}}
                                .model();
  const Graph graph = load_bytes(bytes, {.input_shapes = {{"x", {1, 3, 64, 48}}}});
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{1, 3, 64, 48}));
}

std::string model_with(const std::string& tensor) {
  return OnnxGraph{.nodes = {node_proto("Add", {"x", "w"}, {"y"})},
                   .initializers = {tensor},
                   .inputs = {value_proto("x", {2})},
                   .outputs = {value_proto("y", {2})}}
      .model();
}

TEST_F(Onnx, TensorsOfAllKindsAreRead) {
  auto numbers = [&](const std::string& tensor) {
    const Graph graph = load_bytes(OnnxGraph{
        .nodes = {node_proto("Identity", {"w"}, {"y"})},
        .initializers = {tensor},
        .inputs = {value_proto("x", {2})},
        .outputs = {
            value_proto("y", {2})}}.model());
    return values<float>(graph.value(graph.nodes[0].inputs[0]).constant.cast(DType::kFloat32));
  };
  auto typed = [&](int type, std::initializer_list<std::int32_t> data, std::int64_t count) {
    return message([&](pbf_writer& out) {
      tensor_head(out, "w", {count}, type);
      for (std::int32_t value : data) out.add_int32(5, value);
    });
  };
  auto raw = [&](int type, const std::string& data, std::int64_t count) {
    return message([&](pbf_writer& out) {
      tensor_head(out, "w", {count}, type);
      out.add_bytes(9, data);
    });
  };
  using namespace std::string_literals;
  EXPECT_THAT(numbers(float_tensor("w", {2}, {1.5f, -2})), ElementsAre(1.5f, -2));
  EXPECT_THAT(numbers(typed(3, {-1, 5}, 2)), ElementsAre(-1, 5));                // int8
  EXPECT_THAT(numbers(typed(10, {0x3c00, 0xc000}, 2)), ElementsAre(1, -2));      // float16
  EXPECT_THAT(numbers(raw(16, "\x80\x3f\x00\xc0"s, 2)), ElementsAre(1, -2));     // bfloat16
  EXPECT_THAT(numbers(raw(22, "\x9f\x03"s, 3)), ElementsAre(-1, -7, 3));         // int4, the low half first
  EXPECT_THAT(numbers(raw(21, "\x9f\x03"s, 3)), ElementsAre(15, 9, 3));          // uint4
  EXPECT_THAT(numbers(raw(9, "\x00\x07"s, 2)), ElementsAre(0, 1));               // bool
  EXPECT_THAT(numbers(raw(11, "\0\0\0\0\0\0\xf8\x3f"s, 1)), ElementsAre(1.5f));  // float64
  EXPECT_THAT(error(model_with(raw(1, "1234", 2))),
              HasSubstr("tensor w: its data has 4 bytes, its shape 2 needs 8"));
  EXPECT_THAT(error(model_with(typed(1, {}, 2))),
              HasSubstr("tensor w: float_data has 0 entries, its shape needs 2"));
  EXPECT_THAT(error(model_with(raw(8, "", 2))), HasSubstr("tensor w: octet does not hold string"));
}

TEST_F(Onnx, ExternalDataStaysInTheModelsFolder) {
  const float numbers[] = {0, 0, 3, 4};
  std::string data(sizeof numbers, '\0');
  std::memcpy(data.data(), numbers, sizeof numbers);
  write_file(dir_ / "weights.bin", data);
  const Graph graph = load_bytes(model_with(external_tensor("w", {2}, "weights.bin", "8")));
  EXPECT_THAT(values<float>(run_graph(graph, {Tensor::of<float>({2}, {1, 1})})[0]), ElementsAre(4, 5));
  TempDir copy;
  save(graph, copy / "model.onnx");
  EXPECT_EQ(read_file(copy / "weights.bin"), data);
  EXPECT_EQ(load(copy / "model.onnx").nodes.size(), 1u);

  TempDir outside;
  write_file(outside / "secret", data);
  std::filesystem::create_symlink(outside / "secret", dir_ / "link");
  std::filesystem::create_directory_symlink(outside.path(), dir_ / "folder");
  auto refused = [&](const std::string& location, const char* offset = "0") {
    return error(model_with(external_tensor("w", {2}, location, offset)));
  };
  EXPECT_THAT(refused("../secret"), HasSubstr("outside of the model's directory"));
  EXPECT_THAT(refused("a/../../secret"), HasSubstr("outside of the model's directory"));
  EXPECT_THAT(refused((outside / "secret").string()), HasSubstr("which is no file name"));
  EXPECT_THAT(refused(""), HasSubstr("which is no file name"));
  EXPECT_THAT(refused("link"), HasSubstr("a link to outside"));
  EXPECT_THAT(refused("folder/secret"), HasSubstr("a link to outside"));
  EXPECT_THAT(refused("missing"), HasSubstr("which is not there"));
  EXPECT_THAT(refused("."), HasSubstr("no regular file"));
  EXPECT_THAT(refused("weights.bin", "12"), HasSubstr("which has 16"));
  EXPECT_THAT(refused("weights.bin", "18446744073709551615"), HasSubstr("which has 16"));
  EXPECT_THAT(refused("weights.bin", "x"), HasSubstr("offset is no number"));
}

TEST_F(Onnx, SaysWhatItCannotRead) {
  const OnnxGraph relu{.nodes = {node_proto("Relu", {"x"}, {"y"})},
                       .initializers = {},
                       .inputs = {value_proto("x", {2})},
                       .outputs = {value_proto("y", {2})}};
  EXPECT_THAT(error(relu.model(5)), HasSubstr("its opset is 5, octet reads 6 to 28"));
  EXPECT_THAT(error(relu.model(29)), HasSubstr("its opset is 29"));
  OnnxGraph undefined = relu;
  undefined.nodes = {node_proto("Relu", {"z"}, {"y"})};
  EXPECT_THAT(error(undefined.model()), HasSubstr("\"z\" is used before anything defines it"));
  OnnxGraph twice = relu;
  twice.nodes.push_back(node_proto("Exp", {"x"}, {"y"}));
  EXPECT_THAT(error(twice.model()), HasSubstr("\"y\" is defined twice"));
  OnnxGraph text = relu;
  text.inputs = {value_proto("x", {2}, 8)};
  EXPECT_THAT(error(text.model()), HasSubstr("input x is string, which octet does not hold"));
}

// Some tools write nodes in an order in which they can't run.
TEST_F(Onnx, NodesAreBroughtIntoOrder) {
  const Graph graph = load_bytes(OnnxGraph{
      .nodes = {node_proto("Neg", {"a"}, {"y"}), node_proto("Exp", {"x"}, {"a"})},
      .initializers = {},
      .inputs = {value_proto("x", {1})},
      .outputs = {
          value_proto("y", {1})}}.model());
  EXPECT_EQ(graph.nodes[0].op, "exp");
}

TEST_F(Onnx, SurvivesDamage) {
  save(small_network(), dir_ / "good.onnx");
  expect_survives_damage(
      read_file(dir_ / "good.onnx"),
      [&](const std::string& content) {
        const Graph graph = load_bytes(content);
        check_attributes(graph);
      },
      7, 2000);
}

// conv2d with int8 weights between Q and DQ, as octet ptq makes it, in Paddle's numbers.
Graph quantized_network(float bias, float abs_max = 1, int bits = 8) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2, 4, 4});
  ValueId scale = b.constant("x.scale", Tensor::of<float>({1}, {2}));
  ValueId quantized = b.op("dequantize", {b.op("quantize", {x, scale}), scale});
  ValueId weight = b.constant("w", Tensor::of<std::int8_t>({2, 2, 1, 1}, {7, -3, 5, 6}));
  ValueId steps = b.constant("w.scale", Tensor::of<float>({2}, {abs_max, 0.5f}));
  ValueId dequantized =
      b.op("dequantize", {weight, steps}, {{"axis", std::int64_t{0}}, {"bits", std::int64_t{bits}}});
  ValueId y =
      b.conv2d(quantized, dequantized, {.bias = b.constant("bias", Tensor::of<float>({2}, {bias, 1}))});
  ValueId z = b.relu(y), out_scale = b.constant("y.scale", Tensor::of<float>({1}, {3}));
  return b.build({b.op("dequantize", {b.op("quantize", {z, out_scale}), out_scale})});
}

std::map<std::string, int> dtypes(const Graph& graph) {
  std::map<std::string, int> count;
  for (const Value& value : graph.values)
    if (value.is_constant()) ++count[std::string(octet::name_of(value.dtype))];
  return count;
}

TEST_F(Onnx, QuantizedGraphsHaveTheFormOfTheirTarget) {
  const Graph graph = quantized_network(0.5f);
  const Tensor x = ramp({1, 2, 4, 4}, 3);
  const std::vector<float> expected = values<float>(run_graph(graph, {x})[0]);
  for (const char* target : {"cpu", "tensorrt", "common"}) {
    save(graph, dir_ / "model.onnx", {.target = target});
    const Graph read = load(dir_ / "model.onnx");
    EXPECT_EQ(dtypes(read)["int32"], std::string(target) == "cpu" ? 1 : 0) << target;  // the bias
    EXPECT_EQ(dtypes(read)["uint8"] > 0, std::string(target) != "tensorrt") << target;
    const std::vector<float> found = values<float>(run_graph(read, {x})[0]);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 3.0 / 127) << target;
  }
  EXPECT_THAT(error_of([&] { save(graph, dir_ / "model.onnx", {.target = "npu"}); }),
              HasSubstr("npu: no such target"));
}

// A channel with tiny weights: its bias in units of the sums does not fit into int32, and stays a float.
TEST_F(Onnx, ABiasThatDoesNotFitInt32StaysAFloat) {
  save(quantized_network(100, 1e-9f), dir_ / "model.onnx");
  const Graph read = load(dir_ / "model.onnx");
  EXPECT_EQ(dtypes(read)["int32"], 0);
  const Tensor x = ramp({1, 2, 4, 4}, 3);
  EXPECT_NEAR(values<float>(run_graph(read, {x})[0])[0], 3, 0.1);  // clipped at the scale, not wrapped
}

TEST_F(Onnx, FourBitWeightsArePackedFromOpset21On) {
  save(quantized_network(0.5f, 1, 4), dir_ / "small.onnx", {.opset = 21});
  save(quantized_network(0.5f, 1, 4), dir_ / "large.onnx", {.opset = 17});
  const Tensor x = ramp({1, 2, 4, 4}, 3);
  EXPECT_EQ(values<float>(run_graph(load(dir_ / "small.onnx"), {x})[0]),
            values<float>(run_graph(load(dir_ / "large.onnx"), {x})[0]));
  EXPECT_THAT(read_file(dir_ / "small.onnx"), HasSubstr("\xd7\x65"));  // 7 and -3, 5 and 6
}

}  // namespace
}  // namespace octet::onnx
