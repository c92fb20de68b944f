#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

ProgramResult bench_in(const TempDir& dir, std::vector<std::string> words) {
  words.insert(words.begin(), {"bench", "--runs", "4", "--warmup", "1", "--threads", "1"});
  return run_octet(words, dir.path());
}

// 4 channels from 3 by a 3 x 3 convolution without padding; with quantizers if asked for.
void save_convolution(const std::filesystem::path& folder, bool quantized) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  if (quantized) {
    ValueId scale = b.constant("x.scale", Tensor::of<float>({1}, {1.0f}));
    x = b.op("dequantize", {b.op("quantize", {x, scale}), scale});
  }
  ValueId y = b.conv2d(x, b.constant("w", Tensor::of<float>({4, 3, 3, 3}, std::vector<float>(108, 0.1f))));
  b.rename(y, "y");
  Model(std::make_shared<const Graph>(b.build({y}))).save(folder);
}

TEST(BenchCommand, SeveralModelsInOneTable) {
  Sandbox box;
  ProgramResult result = bench_in(box, {"--model", "model", "--model", "scores"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| peak memory | first / this |\n"));
  EXPECT_THAT(result.out, HasSubstr(" MB | 1.00 |\n"));
  EXPECT_THAT(result.out, HasSubstr("\n| model | fp32 | 1x3x224x224 | "));
  EXPECT_THAT(result.out, HasSubstr("\n| scores | fp32 | 1x3x224x224 | "));
}

TEST(BenchCommand, StreamsRunAtTheSameTime) {
  TempDir dir;
  save_convolution(dir / "float", false);
  const std::vector<std::string> words = {"--model", "float", "--input", "1x3x10x12", "--batch", "3"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return bench_in(dir, more);
  };
  ProgramResult result = with({"--threads", "2", "--streams", "2", "--json", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 threads, 2 streams, 4 runs\n"));
  const Json json = Json::parse(read_file(dir / "b.json"))[0];
  EXPECT_EQ(json["streams"], 2);
  EXPECT_EQ(json["batch"], 3);
  EXPECT_EQ(json["runs"], 4);
  EXPECT_NEAR(json["images_per_second"].get<double>() * json["median_ms"].get<double>(), 2 * 3 * 1000, 1e-6);

  result = with({"--streams", "2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--streams 2: more than the 1 thread;"));
  result = with({"--threads", "2", "--streams", "2", "--profile"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--streams measures throughput"));
}

TEST(BenchCommand, JsonHasTheNumbers) {
  TempDir dir;
  save_convolution(dir / "float", false);
  save_convolution(dir / "int8", true);
  ProgramResult result =
      bench_in(dir, {"--model", "float", "--model", "int8", "--input", "2x3x10x12", "--json", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Json list = Json::parse(read_file(dir / "b.json"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["model"], "float");
  EXPECT_EQ(list[0]["precision"], "fp32");
  EXPECT_EQ(list[1]["precision"], "int8");
  for (const Json& json : list) {
    EXPECT_EQ(json["threads"], 1);
    EXPECT_EQ(json["batch"], 2);
    EXPECT_EQ(json["runs"], 4);
    EXPECT_EQ(json["inputs"], Json::parse("[[2, 3, 10, 12]]"));
    EXPECT_EQ(json["macs"], 2 * 4 * 8 * 10 * 27);
    EXPECT_GT(json["min_ms"].get<double>(), 0);
    EXPECT_LE(json["min_ms"].get<double>(), json["median_ms"].get<double>());
    EXPECT_LE(json["median_ms"].get<double>(), json["p99_ms"].get<double>());
    EXPECT_NEAR(json["gmacs"].get<double>(), json["macs"].get<double>() / json["min_ms"].get<double>() / 1e6,
                1e-6);
    EXPECT_GE(json["peak_bytes"].get<int>(), 4 * (2 * 3 * 10 * 12 + 2 * 4 * 8 * 10));
    EXPECT_FALSE(json.contains("layers"));
  }
}

TEST(BenchCommand, ProfileShowsEveryLayer) {
  Sandbox box;
  ProgramResult result = bench_in(
      box, {"--model", "model", "--input=x=1x3x8x8", "--isa", "ref", "--profile", "--json", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n| y | softmax | ref | 1x3 | "));
  Json layers = Json::parse(read_file(box / "b.json"))[0]["layers"];
  ASSERT_GE(layers.size(), 3u);
  EXPECT_EQ(layers.back()["name"], "y");
  EXPECT_EQ(layers.back()["op"], "softmax");
  EXPECT_EQ(layers.back()["kernel"], "ref");
  EXPECT_EQ(layers.back()["shape"], Json::parse("[1, 3]"));
  std::int64_t macs = 0;
  for (const Json& layer : layers) macs += layer["macs"].get<std::int64_t>();
  EXPECT_EQ(macs, 9);
}

TEST(BenchCommand, MistakesAreOneLine) {
  Sandbox box;
  auto error_of = [&](std::vector<std::string> words) {
    ProgramResult result = bench_in(box, std::move(words));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, testing::MatchesRegex("octet: error: [^\n]*\n"));
    return result.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("--model is required"));
  EXPECT_THAT(error_of({"--model", "none"}), HasSubstr("none"));
  for (const char* shape : {"1x3xx4", "1x3x-4x4", "x", "1x3x4x4x", "x=", "1x0", "9999999999999999999", "1,3"})
    EXPECT_THAT(error_of({"--model", "model", "--input", shape}),
                HasSubstr("not a shape such as 1x3x224x224"));
  EXPECT_THAT(error_of({"--model", "model", "--input", "1000000x1000000x1000000x1000000"}), HasSubstr("too"));
  EXPECT_THAT(error_of({"--model", "model", "--input", "1x3"}), HasSubstr("has 4 dimensions: ?x3x?x?"));
  EXPECT_THAT(error_of({"--model", "model", "--input", "1x3x8x8", "--input", "1x3x8x8"}),
              HasSubstr("model has only 1 input"));
  EXPECT_THAT(error_of({"--model", "model", "--input", "q=1x3x8x8"}), HasSubstr("its inputs are x"));
  EXPECT_THAT(error_of({"--model", "model", "--runs", "0"}), HasSubstr("--runs"));
  EXPECT_THAT(error_of({"--model", "model", "--json", "no/such/folder/b.json"}), HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace octet
