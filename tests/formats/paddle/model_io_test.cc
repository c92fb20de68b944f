#include "formats/paddle/model_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/paddle/program.h"
#include "formats/paddle_common/params.h"
#include "passes/passes.h"
#include "support/damage.h"
#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet::paddle {
namespace {

using namespace octet::testing;
using ::testing::HasSubstr;

ModelPaths paths_in(const TempDir& dir) {
  return {dir / "inference.pdmodel", dir / "inference.pdiparams"};
}

void save_model(const Graph& graph, const ModelPaths& paths) {
  AtomicFiles files;
  add_model(files, graph, paths);
  files.commit();
}

TEST(ModelIo, ReadsWhatItWrites) {
  TempDir dir;
  Graph graph = small_network();
  save_model(graph, paths_in(dir));
  Graph read = load_model(paths_in(dir));
  Tensor x = ramp({2, 3, 8, 8}, 9);
  EXPECT_EQ(values<float>(run_graph(graph, {x})[0]), values<float>(run_graph(read, {x})[0]));
  EXPECT_EQ(read.value(read.inputs[0]).name, "x");
  EXPECT_EQ(read.value(read.inputs[0]).shape, (Shape{kUnknown, 3, 8, 8}));
}

TEST(ModelIo, WritesTheSameBytesWhenNothingChanged) {
  TempDir dir, copy;
  save_model(small_network(), paths_in(dir));
  save_model(load_model(paths_in(dir)), paths_in(copy));
  EXPECT_EQ(read_file(dir / "inference.pdmodel"), read_file(copy / "inference.pdmodel"));
  EXPECT_EQ(read_file(dir / "inference.pdiparams"), read_file(copy / "inference.pdiparams"));
}

// A program as another tool may write it: an op and attributes that octet doesn't know.
std::string foreign_program() {
  std::vector<std::string> vars = {write_var("feed", kFeedMinibatch, 0, {}, true),
                                   write_var("fetch", kFetchList, 0, {}, true),
                                   write_var("x", kDenseTensor, code_of(DType::kFloat32), {-1, 4}, false),
                                   write_var("y", kDenseTensor, code_of(DType::kFloat32), {-1, 4}, false),
                                   write_var("z", kDenseTensor, code_of(DType::kFloat32), {-1, 4}, false)};
  std::vector<std::string> ops = {
      write_op({"feed", {{"X", {"feed"}}}, {{"Out", {"x"}}}, {{"col", AttrType::kInt, std::int64_t{0}}}}),
      write_op({"relu", {{"X", {"x"}}}, {{"Out", {"y"}}}, {{"op_device", AttrType::kString, "gpu:7"}}}),
      write_op({"frobnicate", {{"X", {"y"}}}, {{"Out", {"z"}}}, {{"how", AttrType::kFloat, 0.1}}}),
      write_op({"fetch", {{"X", {"z"}}}, {{"Out", {"fetch"}}}, {{"col", AttrType::kInt, std::int64_t{0}}}})};
  return write_program({vars.begin(), vars.end()}, {ops.begin(), ops.end()}, nullptr);
}

TEST(ModelIo, KeepsWhatItDoesNotKnow) {
  TempDir dir;
  write_file(dir / "inference.pdmodel", foreign_program());
  Graph graph = load_model(paths_in(dir));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[1].op, "paddle:frobnicate");
  EXPECT_THAT(error_of([&] { run_graph(graph, {ramp({1, 4})}); }), HasSubstr("frobnicate"));

  TempDir copy;
  save_model(graph, paths_in(copy));
  EXPECT_EQ(read_file(copy / "inference.pdmodel"), foreign_program());
}

TEST(ModelIo, KeepsTheOtherOpsWhenOneChanges) {
  TempDir dir, copy;
  write_file(dir / "inference.pdmodel", foreign_program());
  Graph graph = load_model(paths_in(dir));
  graph.nodes[0].op = "sigmoid";
  save_model(graph, paths_in(copy));
  std::string bytes = read_file(copy / "inference.pdmodel");
  Program program = parse_program(bytes);
  ASSERT_EQ(program.ops.size(), 4u);
  EXPECT_EQ(program.ops[1].type, "sigmoid");
  EXPECT_EQ(program.ops[1].find_attr("op_device"), nullptr);
  std::string original = foreign_program();
  EXPECT_EQ(program.ops[2].bytes, parse_program(original).ops[2].bytes);
  EXPECT_EQ(load_model(paths_in(copy)).nodes[1].op, "paddle:frobnicate");
}

TEST(ModelIo, WritesChangedParametersAndLeavesOutUnusedOnes) {
  TempDir dir, copy;
  save_model(small_network(), paths_in(dir));
  Graph graph = load_model(paths_in(dir));
  ValueId bias = graph.find_value("fc.b");
  graph.value(bias).constant = ramp({5}, 77);
  graph.nodes.back().inputs[1] = bias;
  graph.add_constant("unused", ramp({100}));
  save_model(graph, paths_in(copy));
  Graph read = load_model(paths_in(copy));
  EXPECT_EQ(values<float>(read.value(read.find_value("fc.b")).constant.aligned()),
            values<float>(ramp({5}, 77)));
  EXPECT_EQ(values<float>(read.value(read.find_value("conv.w")).constant.aligned()),
            values<float>(ramp({4, 3, 3, 3})));
  EXPECT_EQ(read.find_value("unused"), kNoValue);
}

TEST(ModelIo, AVariableThatIsWrittenTwiceIsTwoValues) {
  std::vector<std::string> vars = {write_var("feed", kFeedMinibatch, 0, {}, true),
                                   write_var("fetch", kFetchList, 0, {}, true),
                                   write_var("x", kDenseTensor, code_of(DType::kFloat32), {-1}, false)};
  std::vector<std::string> ops = {
      write_op({"feed", {{"X", {"feed"}}}, {{"Out", {"x"}}}, {{"col", AttrType::kInt, std::int64_t{0}}}}),
      write_op({"abs", {{"X", {"x"}}}, {{"Out", {"y"}}}, {}}),
      write_op({"sqrt", {{"X", {"y"}}}, {{"Out", {"y"}}}, {}}),
      write_op({"fetch", {{"X", {"y"}}}, {{"Out", {"fetch"}}}, {{"col", AttrType::kInt, std::int64_t{0}}}})};
  TempDir dir, copy;
  std::string bytes = write_program({vars.begin(), vars.end()}, {ops.begin(), ops.end()}, nullptr);
  write_file(dir / "inference.pdmodel", bytes);
  Graph graph = load_model(paths_in(dir));
  EXPECT_EQ(values<float>(run_graph(graph, {Tensor::of<float>({2}, {-4, 9})})[0]),
            (std::vector<float>{2, 3}));
  save_model(graph, paths_in(copy));
  EXPECT_EQ(read_file(copy / "inference.pdmodel"), bytes);
  graph.source = nullptr;
  save_model(graph, paths_in(copy));
  EXPECT_EQ(values<float>(run_graph(load_model(paths_in(copy)), {Tensor::of<float>({1}, {-25})})[0]),
            (std::vector<float>{5}));
}

TEST(ModelIo, ReadsOneFileAParameter) {
  TempDir dir;
  save_model(small_network(), paths_in(dir));
  Graph graph = load_model(paths_in(dir));
  TempDir old;
  std::string params = read_file(dir / "inference.pdiparams");
  // The records stand in the order of the sorted names.
  std::map<std::string, std::size_t> sizes;
  for (const Value& value : graph.values)
    if (value.is_constant())
      sizes[value.name] = write_record_header(value.constant).size() + value.constant.size_bytes();
  std::size_t offset = 0;
  for (const auto& [name, size] : sizes) {
    write_file(old / name, params.substr(offset, size));
    offset += size;
  }
  EXPECT_EQ(offset, params.size());
  write_file(old / "__model__", read_file(dir / "inference.pdmodel"));
  Graph read = load_model(find_model(old.path()));
  Tensor x = ramp({1, 3, 8, 8});
  EXPECT_EQ(values<float>(run_graph(graph, {x})[0]), values<float>(run_graph(read, {x})[0]));
}

TEST(ModelIo, LeavesTheOldFilesWhenWritingFails) {
  TempDir dir;
  save_model(small_network(), paths_in(dir));
  std::string before = read_file(dir / "inference.pdmodel");
  Graph graph = small_network();
  graph.nodes[0].op = "qlut";  // an op that no Paddle file can say
  EXPECT_THAT(error_of([&] { save_model(graph, paths_in(dir)); }), HasSubstr("qlut"));
  EXPECT_EQ(read_file(dir / "inference.pdmodel"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2);
}

TEST(ModelIo, SurvivesDamagedPrograms) {
  TempDir dir, bad;
  save_model(small_network(), paths_in(dir));
  write_file(bad / "inference.pdiparams", read_file(dir / "inference.pdiparams"));
  auto read = [&](const std::string& content) {
    write_file(bad / "inference.pdmodel", content);
    Graph graph = load_model(paths_in(bad));
    try {
      run_graph(graph, {ramp({1, 3, 8, 8})}, true);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    }
  };
  expect_survives_damage(read_file(dir / "inference.pdmodel"), read, 64, 400);
}

TEST(ModelIo, SurvivesDamagedParameters) {
  TempDir dir, bad;
  save_model(small_network(), paths_in(dir));
  write_file(bad / "inference.pdmodel", read_file(dir / "inference.pdmodel"));
  auto read = [&](const std::string& content) {
    write_file(bad / "inference.pdiparams", content);
    load_model(paths_in(bad));
  };
  expect_survives_damage(read_file(dir / "inference.pdiparams"), read, 64, 400);
}

TEST(ModelIo, SaysWhatIsWrong) {
  TempDir dir;
  auto message = [&] { return error_of([&] { load_model(find_model(dir.path())); }); };
  EXPECT_THAT(message(), HasSubstr("no model in this directory"));
  write_file(dir / "a.pdmodel", foreign_program());
  write_file(dir / "b.pdmodel", foreign_program());
  EXPECT_THAT(message(), HasSubstr("several models (a.pdmodel, b.pdmodel); name the file of one"));
  EXPECT_EQ(find_model(dir.path(), {"b.pdmodel", ""}).weights, dir / "b.pdiparams");
  write_file(dir / "__model__", "hello");
  EXPECT_THAT(message(), HasSubstr("__model__: not a Paddle model"));
  write_file(dir / "model.pdmodel", "");
  EXPECT_THAT(message(), HasSubstr("model.pdmodel: not a Paddle model: it has no block"));
  save_model(small_network(), {dir / "inference.pdmodel", dir / "inference.pdiparams"});
  std::filesystem::remove(dir / "inference.pdiparams");
  EXPECT_THAT(message(), HasSubstr("inference.pdiparams: no such file, and the model has 7 parameters"));
  write_file(dir / "inference.pdiparams", read_file(dir / "inference.pdmodel"));
  EXPECT_THAT(message(), HasSubstr("do the model and the params file belong together?"));
  EXPECT_THAT(error_of([&] { find_model(dir / "nothing"); }),
              HasSubstr("nothing: no such file or directory"));
  write_file(dir / "m.json", "{}");
  EXPECT_THAT(error_of([&] { find_model(dir / "m.json"); }), HasSubstr("no Paddle 3 model"));
  EXPECT_THAT(error_of([&] { find_model(dir / "inference.pdiparams"); }), HasSubstr("is a parameter file"));
}

TEST(ModelIo, ALayoutThatIsNotReadIsAReasonNotACrash) {
  std::vector<std::string> vars = {write_var("feed", kFeedMinibatch, 0, {}, true),
                                   write_var("fetch", kFetchList, 0, {}, true)};
  std::vector<std::string> ops = {
      write_op({"feed", {{"X", {"feed"}}}, {{"Out", {"x"}}}, {}}),
      write_op({"pool2d", {{"X", {"x"}}}, {{"Out", {"y"}}}, {{"data_format", AttrType::kString, "NHWC"}}}),
      write_op({"fetch", {{"X", {"y"}}}, {{"Out", {"fetch"}}}, {}})};
  TempDir dir;
  write_file(dir / "inference.pdmodel",
             write_program({vars.begin(), vars.end()}, {ops.begin(), ops.end()}, nullptr));
  Graph graph = load_model(paths_in(dir));
  EXPECT_THAT(error_of([&] {
                run_graph(graph, {ramp({1, 3, 8, 8})});
              }),
              HasSubstr("data_format is NHWC, octet reads NCHW"));
}

// ONNX's ways that Paddle lacks: a file without them would be another model.
TEST(ModelIo, RefusesWhatPaddleHasNoWordsFor) {
  auto error = [](const char* op, const Attrs& attrs) {
    Builder b;
    ValueId x = b.input("x", {1, 3, 8, 8});
    TempDir dir;
    return error_of([&] { save_model(b.build({b.op(op, {x}, attrs)}), paths_in(dir)); });
  };
  EXPECT_THAT(error("resize", {{"coordinates", "half_pixel"}, {"scale", std::vector<double>{0.5, 0.25}}}),
              HasSubstr("Paddle has no coordinates half_pixel"));
  EXPECT_THAT(error("layer_norm", {{"centered", false}}), HasSubstr("Paddle's layer_norm has no centered"));
  const Attrs window = {{"kernel", std::vector<std::int64_t>{3, 3}}, {"auto_pad", "same_lower"}};
  EXPECT_THAT(error("pool2d", window), HasSubstr("Paddle has no auto_pad same_lower"));
}

}  // namespace
}  // namespace octet::paddle
