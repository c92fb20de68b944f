#include "formats/onnx/model_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

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

// At any place in the file: what a Range goes to decides shapes while the model is read.
TEST_F(Onnx, NumbersMayLieAtOddPlaces) {
  auto number = [](const std::string& name, std::int64_t value) {
    return message([&](pbf_writer& out) {
      tensor_head(out, name, {}, 7);
      out.add_bytes(9, reinterpret_cast<const char*>(&value), sizeof value);
    });
  };
  for (std::size_t length = 1; length <= 8; ++length) {
    const std::string name(length, 'n');
    const Graph graph = load_bytes(OnnxGraph{
        .nodes = {node_proto("Range", {"begin", name, "step"}, {"r"}),
                  node_proto("Cast", {"r"}, {"f"}, {int_attribute("to", 1)}),
                  node_proto("Add", {"x", "f"}, {"y"})},
        .initializers = {number("begin", 0), number(name, 4), number("step", 2)},
        .inputs = {value_proto("x", {2})},
        .outputs = {
            value_proto("y", {2})}}.model());
    EXPECT_THAT(values<float>(run_graph(graph, {Tensor::of<float>({2}, {1, 1})})[0]), ElementsAre(1, 3));
  }
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
  // So it is not the file as it was that is written.
  save(graph, dir_ / "fixed.onnx");
  const Graph fixed = load(dir_ / "fixed.onnx");
  EXPECT_EQ(fixed.value(fixed.inputs[0]).shape, (Shape{1, 3, 64, 48}));
  const Shape& written = fixed.value(fixed.outputs[0]).shape;  // its first dimension may be left open
  EXPECT_EQ(Shape(written.begin() + 1, written.end()), (Shape{3, 64, 48}));
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

// protobuf's files end at 2 GiB: a tensor that lies beyond it in a file of its own (a sparse one here) is
// read.
TEST_F(Onnx, DataBeyondTwoGigabytesIsRead) {
  constexpr std::uint64_t kOffset = (std::uint64_t{1} << 31) + 4096;
  const float numbers[] = {3, 4};
  std::string data(sizeof numbers, '\0');
  std::memcpy(data.data(), numbers, sizeof numbers);
  {
    std::ofstream file(dir_ / "weights.bin", std::ios::binary);
    file.seekp(kOffset);
    file.write(data.data(), static_cast<std::streamsize>(data.size()));
  }
  const Graph graph =
      load_bytes(model_with(external_tensor("w", {2}, "weights.bin", std::to_string(kOffset))));
  EXPECT_THAT(values<float>(run_graph(graph, {Tensor::of<float>({2}, {1, 1})})[0]), ElementsAre(4, 5));
}

// What would not fit into the file goes into one beside it, and comes back.
TEST_F(Onnx, DataBeyondTheLargestFileIsWrittenBesideIt) {
  const Graph graph = small_network();
  AtomicFiles files;
  onnx::add_model(files, graph, ModelPaths{dir_ / "large.onnx", {}}, {}, 1000);
  files.commit();
  EXPECT_THAT(read_file(dir_ / "large.onnx"), HasSubstr("large.onnx.data"));
  EXPECT_GT(std::filesystem::file_size(dir_ / "large.onnx.data"), 500u);
  const Tensor x = ramp({2, 3, 8, 8}, 9);
  EXPECT_EQ(values<float>(run_graph(load(dir_ / "large.onnx"), {x})[0]),
            values<float>(run_graph(graph, {x})[0]));
}

// Runs what `graph` makes of x, and what comes back when it was written.
void expect_written_the_same(const Graph& graph, const std::vector<Tensor>& inputs,
                             const std::filesystem::path& path, int opset) {
  save(graph, path, {.opset = opset});
  const Graph read = load(path);
  const std::vector<Tensor> expected = run_graph(graph, inputs), found = run_graph(read, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    const std::vector<float> a = values<float>(found[i]), b = values<float>(expected[i]);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-6) << path << " " << k;
  }
}

TEST_F(Onnx, LstmIsWrittenWithTheWeightsInFrontOfIt) {
  for (bool constant : {true, false})
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const std::int64_t directions = direction == std::string("bidirectional") ? 2 : 1, hidden = 3;
      Builder b;
      ValueId x = b.input("x", {kUnknown, 2, 5});
      ValueId given = x;
      if (constant) {
        given = b.matmul(x, b.constant("w", ramp({5, directions * 4 * hidden}, 3)));
        given = b.add(given, b.constant("b", ramp({directions * 4 * hidden}, 4)));
      } else {
        given = b.concat({x, x, x, x, x}, 2);
        given = b.slice(given, {2}, {0}, {directions * 4 * hidden});
      }
      ValueId recurrent = b.constant("r", ramp({directions, 4 * hidden, hidden}, 5));
      const std::vector<ValueId> made =
          b.op_multi("lstm", {given, recurrent}, {{"direction", std::string(direction)}}, 3);
      const Graph graph = b.build({made[0], made[1], made[2]});
      expect_written_the_same(graph, {ramp({4, 2, 5}, 6)}, dir_ / "lstm.onnx", 17);
    }
}

TEST_F(Onnx, EinsumAndResampleAreWritten) {
  using Ints = std::vector<std::int64_t>;
  Builder b;
  ValueId x = b.input("x", {2, 3, 4}), y = b.input("y", {2, 4, 5});
  // "...ij,...jk->k...i"
  ValueId z = b.op("einsum", {x, y}, {{"labels", Ints{52, 8, 9, -1, 52, 9, 10, -1, 10, 52, 8}}});
  expect_written_the_same(b.build({z}), {ramp({2, 3, 4}, 1), ramp({2, 4, 5}, 2)}, dir_ / "einsum.onnx", 17);
  for (const Attrs& attrs :
       {Attrs{{"mode", std::string("cubic")}, {"sizes", Ints{1, 2, 7, 9}}},
        Attrs{{"mode", std::string("linear")},
              {"scales", std::vector<double>{1, 1, 0.6, 0.6}},
              {"antialias", true}},
        Attrs{{"mode", std::string("linear")}, {"axes", Ints{2, 3}}, {"sizes", Ints{3, 8}}},
        Attrs{{"mode", std::string("linear")},
              {"coordinates", std::string("crop")},
              {"roi", std::vector<double>{0, 0, 0.1, 0.2, 1, 1, 0.9, 0.8}},
              {"sizes", Ints{1, 2, 4, 4}}}}) {
    Builder c;
    ValueId image = c.input("x", {1, 2, 5, 6});
    expect_written_the_same(c.build({c.op("resample", {image}, attrs)}), {ramp({1, 2, 5, 6}, 3)},
                            dir_ / "resample.onnx", 18);
  }
}

// A scale for each block of numbers; the last block may be cut off.
TEST_F(Onnx, ScalesOfBlocksAreRead) {
  auto model = [](std::int64_t block) {
    const std::vector<std::string> attributes = {int_attribute("axis", 1),
                                                 int_attribute("block_size", block)};
    std::vector<std::string> quantize = attributes;
    quantize.push_back(int_attribute("output_dtype", 3));
    return OnnxGraph{.nodes = {node_proto("QuantizeLinear", {"x", "s"}, {"q"}, quantize),
                               node_proto("DequantizeLinear", {"q", "s"}, {"y"}, attributes)},
                     .initializers = {float_tensor("s", {1, 2}, {1, 10})},
                     .inputs = {value_proto("x", {1, 5})},
                     .outputs = {value_proto("y", {1, 5})}}
        .model(23);
  };
  const Tensor x = Tensor::of<float>({1, 5}, {1.4F, 2.6F, 300, 16, -2000});
  EXPECT_THAT(values<float>(run_graph(load_bytes(model(3)), {x})[0]), ElementsAre(1, 3, 127, 20, -1280));
  for (std::int64_t block : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, std::int64_t{-3},
                             std::numeric_limits<std::int64_t>::max()})
    EXPECT_THAT(error_of([&] { run_graph(load_bytes(model(block)), {x}); }),
                HasSubstr(fmt::format("its scales of shape 1x2 are not for blocks of {} numbers", block)));
}

// One block along the axis, and elsewhere as many scales as numbers: nothing is repeated that way.
TEST_F(Onnx, ScalesOfBlocksAreNotBroadcast) {
  const Tensor x(DType::kInt8, {4, 6});
  for (const Shape& scales : {Shape{1, 2}, Shape{8, 2}, Shape{4, 2, 1}, Shape{2}}) {
    const OnnxGraph graph{
        .nodes = {node_proto("DequantizeLinear", {"x", "s"}, {"y"},
                             {int_attribute("axis", 1), int_attribute("block_size", 3)})},
        .initializers = {float_tensor(
            "s", scales, std::vector<float>(static_cast<std::size_t>(element_count(scales)), 1))},
        .inputs = {value_proto("x", {4, 6}, 3)},
        .outputs = {value_proto("y", {4, 6})}};
    EXPECT_THAT(error_of([&] { run_graph(load_bytes(graph.model(23)), {x}); }),
                HasSubstr(fmt::format("its scales of shape {} are not for blocks of 3 numbers of shape 4x6",
                                      to_string(scales))));
  }
}

TEST_F(Onnx, SaysWhatItCannotRead) {
  const OnnxGraph relu{.nodes = {node_proto("Relu", {"x"}, {"y"})},
                       .initializers = {},
                       .inputs = {value_proto("x", {2})},
                       .outputs = {value_proto("y", {2})}};
  EXPECT_THAT(error(relu.model(0)), HasSubstr("its opset is 0, octet reads 1 to 28"));
  EXPECT_THAT(error_of([&] { run_graph(load_bytes(relu.model(5)), {ramp({2})}); }),
              HasSubstr("the model's opset is 5, and octet reads Relu from opset 6 on"));
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

// A channel with tiny weights: its bias does not fit into int32 in units of the sums, so these become larger.
TEST_F(Onnx, ABiasThatInt32CouldNotHoldMakesItsChannelsStepLarger) {
  save(quantized_network(100, 1e-9f), dir_ / "model.onnx");
  const Graph read = load(dir_ / "model.onnx");
  EXPECT_EQ(dtypes(read)["int32"], 1);
  const Tensor x = ramp({1, 2, 4, 4}, 3);
  EXPECT_NEAR(values<float>(run_graph(read, {x})[0])[0], 3, 0.1);  // clipped at the scale, not wrapped
  const std::vector<float> found = values<float>(run_graph(read, {x})[0]),
                           expected = values<float>(run_graph(quantized_network(100, 1e-9f), {x})[0]);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 3.0 / 127);
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
