#include "formats/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/builder.h"
#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using namespace octet::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::string error_when_loaded(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return error_of([&] { load_model(path, options); });
}

TEST(Formats, RowsAreComplete) {
  std::set<std::string_view> names;
  for (const Format& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_FALSE(format.models.empty()) << format.name;
    EXPECT_FALSE(format.model_file.empty()) << format.name;
    EXPECT_TRUE(format.recognise && format.load && format.save) << format.name;
    EXPECT_EQ(format.load_state == nullptr, format.save_state == nullptr) << format.name;
    EXPECT_EQ(&find_format(format.name), &format);
  }
  EXPECT_THAT(error_of([] { find_format("pmml"); }),
              HasSubstr("pmml: no such file format; octet writes paddle3, paddle"));
  EXPECT_THAT(error_of([] { save_model(small_network(), TempDir().path(), {.format = "pmml"}); }),
              HasSubstr("pmml: no such file format"));
}

// Directories, files and prefixes; files by what is in them.
TEST(Formats, ModelsAreFoundAndRecognised) {
  TempDir dir;
  save_model(small_network(), dir.path());
  for (const char* path : {"", "inference.pdmodel", "inference"}) {
    const ModelPaths paths = find_model(dir.path() / path);
    EXPECT_EQ(paths.model.filename(), "inference.pdmodel") << path;
    EXPECT_EQ(paths.weights.filename(), "inference.pdiparams") << path;
  }
  std::filesystem::rename(dir / "inference.pdmodel", dir / "net.v1");
  EXPECT_THAT(error_when_loaded(dir.path()), HasSubstr("no model in this directory"));
  const LoadOptions options = {"net.v1", "inference.pdiparams"};
  const Graph graph = load_model(dir.path(), options);
  EXPECT_EQ(graph.nodes.size(), small_network().nodes.size());
  EXPECT_EQ(find_model(dir / "net.v1").weights, dir / "net.v1.pdiparams");
  EXPECT_THAT(error_when_loaded(dir.path(), {"net.v2", ""}), HasSubstr("net.v2: no such file"));
  EXPECT_THAT(error_when_loaded(dir.path(), {"net.v1", "w"}), HasSubstr("w: no such file"));
}

TEST(Formats, ThePrefixOfAModelMayAlsoBeADirectory) {
  TempDir dir;
  save_model(testing::small_network(), dir.path());
  std::filesystem::create_directory(dir / "inference");
  EXPECT_EQ(find_model(dir / "inference").model, dir / "inference.pdmodel");
  EXPECT_EQ(find_model(dir / "inference").weights, dir / "inference.pdiparams");
}

// Where files of both of Paddle's formats are, the newer ones count, as for Paddle.
TEST(Formats, NewerFilesComeFirst) {
  TempDir dir;
  save_model(small_network(), dir.path());
  save_model(small_network(), dir.path(), {.format = "paddle3"});
  for (const char* path : {"", "inference.json", "inference"}) {
    const ModelPaths paths = find_model(dir.path() / path);
    EXPECT_EQ(paths.model.filename(), "inference.json") << path;
    EXPECT_EQ(paths.weights.filename(), "inference.pdiparams") << path;
  }
  EXPECT_EQ(find_model(dir / "inference.pdmodel").model.filename(), "inference.pdmodel");
  EXPECT_EQ(find_model(dir.path(), {"inference.pdmodel", ""}).model.filename(), "inference.pdmodel");
  // Any other name counts only where there is no older model.
  std::filesystem::rename(dir / "inference.json", dir / "net.json");
  EXPECT_EQ(find_model(dir.path()).model.filename(), "inference.pdmodel");
  EXPECT_EQ(find_model(dir / "net").weights.filename(), "net.pdiparams");
  std::filesystem::remove(dir / "inference.pdmodel");
  EXPECT_EQ(find_model(dir.path()).model.filename(), "net.json");
  write_file(dir / "labels.json", "{\"0\": \"cat\"}");
  EXPECT_EQ(find_model(dir.path()).model.filename(), "net.json");
  std::filesystem::copy_file(dir / "net.json", dir / "other.json");
  EXPECT_THAT(error_when_loaded(dir.path()), HasSubstr("several models (net.json, other.json)"));
  std::filesystem::create_directory(dir / "net");
  EXPECT_EQ(find_model(dir / "net").model.filename(), "net.json");
}

TEST(Formats, SaysWhatAnUnknownFileLooksLike) {
  TempDir dir;
  const auto error = [&](const char* name, const std::string& content) {
    write_file(dir / name, content);
    const std::string message = error_when_loaded(dir / name);
    EXPECT_THAT(message, AllOf(HasSubstr(name), HasSubstr("; octet reads Paddle 3 inference models (")));
    return message;
  };
  const std::string onnx = "\x08\x08\x12\x07pytorch"s;
  EXPECT_THAT(error("net.onnx", onnx), HasSubstr("is an ONNX model, which octet does not read yet"));
  EXPECT_THAT(error("net", onnx), HasSubstr("is an ONNX model"));
  EXPECT_THAT(error("net.pdmodel", onnx), HasSubstr("is an ONNX model"));
  EXPECT_THAT(error("net.pdparams", "\x80\x04}."s), HasSubstr("is a pickle, such as a checkpoint"));
  EXPECT_THAT(error("net.pt", "PK\x03\x04"s), HasSubstr("is a zip archive, such as PyTorch writes"));
  EXPECT_THAT(error("net.tflite", "\x20\0\0\0TFL3"s), HasSubstr("is a TensorFlow Lite model"));
  EXPECT_THAT(error("net.json", "{}"), HasSubstr("is a JSON file, but no Paddle 3 model"));
  EXPECT_THAT(error("net.txt", "hello"), HasSubstr("is no model that octet knows"));
  EXPECT_THAT(error("net.nothing", ""), HasSubstr("is empty"));
  TempDir other;
  std::filesystem::rename(dir / "net.onnx", other / "net.onnx");
  EXPECT_THAT(error_when_loaded(other.path()),
              HasSubstr("no model in this directory; net.onnx is an ONNX model"));
  EXPECT_THAT(error_when_loaded(""), HasSubstr("no model given"));
  EXPECT_THAT(error_when_loaded(dir / "none"), HasSubstr("none: no such file or directory"));
}

TEST(Formats, OpsHaveTheNamesThatUsersKnow) {
  const Graph graph = small_network();
  std::set<std::string> types;
  for (const Node& node : graph.nodes) {
    types.insert(op_type(graph, node));
    EXPECT_TRUE(is_op_type(op_type(graph, node))) << node.op;
  }
  EXPECT_TRUE(types.contains("conv2d"));
  for (const char* type : {"depthwise_conv2d", "matmul_v2", "mul", "elementwise_add", "pool2d"})
    EXPECT_TRUE(is_op_type(type)) << type;
  EXPECT_FALSE(is_op_type("frobnicate"));
  Node qlut;
  qlut.op = "qlut";
  EXPECT_EQ(op_type(graph, qlut), "qlut");  // Paddle has no such op
}

}  // namespace
}  // namespace octet
