// fuzz_seeds FOLDER: writes FOLDER/<target>/<number>, small valid inputs for each fuzz target to start from,
// and FOLDER/<target>.dict, the words of formats whose tables have them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "attack/sample_graphs.h"
#include "formats/format.h"
#include "formats/onnx/reader.h"
#include "formats/paddle/model_io.h"
#include "formats/paddle/state_dict.h"
#include "formats/paddle3/model_io.h"
#include "formats/paddle3/op_map.h"
#include "formats/paddle_common/op_map.h"
#include "graph/builder.h"
#include "octet/quantize.h"
#include "quant/calibrate.h"
#include "support/archives.h"
#include "support/idx_files.h"
#include "support/npz.h"
#include "support/pickle_samples.h"
#include "support/pictures.h"
#include "support/temp_dir.h"
#include "tensor/npy.h"
#include "tipc/sample_config.h"

namespace octet {
namespace {

using Inputs = std::vector<std::string>;

Inputs npy() {
  TempDir dir;
  Inputs inputs;
  for (const Tensor& tensor :
       {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::of<std::int64_t>({}, {-1}),
        Tensor::of<bool>({3}, {true, false, true}), Tensor(DType::kUInt8, {0, 7})}) {
    save_npy(dir / "x.npy", tensor);
    inputs.push_back(read_file(dir / "x.npy"));
  }
  std::string transposed = inputs[0];
  transposed.replace(transposed.find("False"), 5, "True ");
  inputs.push_back(transposed);
  return inputs;
}

Inputs npzs() {
  const Tensor small = Tensor::of<float>({2}, {1, 2}), number = Tensor::of<std::int64_t>({}, {-1});
  return {make_npz({{"x", small}}), make_npz({{"x", small}, {"n", number}}, true)};
}

Inputs pickles() {
  Inputs inputs = {samples::kParams2,    samples::kParams3, samples::kParams4,
                   samples::kOptimizer4, samples::kNested4, samples::kFortran5};
  TempDir dir;
  StateDict state;
  state.set("flag", {true});
  state.set("bytes", {StateBytes{"abc"}});
  state.set("w@@.0", {Tensor::of<std::int8_t>({2}, {1, 2})});
  state.set("w@@.1", {Tensor::of<std::int8_t>({1}, {3})});
  StateMap how, splits;
  how.entries = {{{std::string("OriginShape")}, {StateTuple{{{std::int64_t{3}}}}}},
                 {{std::string("slices")}, {StateList{{{std::string("w@@.0")}, {std::string("w@@.1")}}}}}};
  splits.entries = {{{std::string("w")}, {how}}};
  state.set("UnpackBigParamInfor@@", {splits});
  save_state_dict(dir / "x", state);
  inputs.push_back(read_file(dir / "x"));
  return inputs;
}

using WriteModel = std::string (*)(const Graph& graph, const std::function<void(Bytes)>& write_params);

std::string model(const Graph& graph, WriteModel write) {
  std::string params;
  std::string program = write(graph, [&](Bytes bytes) { params += as_text(bytes); });
  std::string size(4, '\0');
  std::uint32_t count = static_cast<std::uint32_t>(program.size());
  std::memcpy(size.data(), &count, sizeof count);
  return size + program + params;
}

Graph quantized(const Graph& graph, bool older) {
  const Tensor x = testing::ramp({2, 3, 16, 16}, 3);
  const auto batches = [&](std::int64_t index, std::vector<FloatArray>& inputs) {
    inputs = {{x.shape(), {x.data<float>().begin(), x.data<float>().end()}}};
    return index == 0;
  };
  const Model model =
      quantize(Model(std::make_shared<const Graph>(graph)), batches,
               {.algo = "abs_max", .round_type = "round", .onnx_format = !older, .threads = 1});
  return *model.graph();
}

Inputs models(WriteModel write) {
  Builder small;
  ValueId a = small.input("x", {kUnknown, 4});
  Inputs inputs = {model(small.build({small.softmax(small.relu(a))}), write)};
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId weight = b.constant("conv.w", Tensor::of<float>({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}));
  ValueId y = b.hard_swish(b.conv2d(x, weight, {.strides = {2, 2}}));
  ValueId bias = b.constant("bias", Tensor::of<float>({2}, {1, 2}));
  y = b.flatten(b.global_avg_pool(b.add(y, bias, 1)));
  inputs.push_back(model(b.build({y}), write));
  for (const attack::NamedGraph& sample : attack::sample_graphs())
    for (const bool older : {false, true}) {
      if (!older) inputs.push_back(model(sample.graph, write));
      inputs.push_back(model(quantized(sample.graph, older), write));
    }
  return inputs;
}

Inputs pdmodels() {
  return models(paddle::write_model);
}

// And with what these files say by ops: computed shapes, lists, int8 weights.
Inputs paddle3_models() {
  Inputs inputs = models(paddle3::write_model);
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 4, 6, kUnknown});
  const ValueId size = b.op("slice", {b.op("shape", {x})},
                            {{"axes", std::vector<std::int64_t>{0}},
                             {"starts", std::vector<std::int64_t>{0}},
                             {"ends", std::vector<std::int64_t>{1}}});
  const ValueId rest =
      b.op("full", {}, {{"shape", std::vector<std::int64_t>{1}}, {"dtype", "int32"}, {"value", -1.0}});
  const std::vector<ValueId> parts = b.split(x, {1, 3}, 1);
  const ValueId flat = b.op("reshape", {b.concat({parts[1], parts[0]}, 1), kNoValue, size, rest});
  const ValueId scale = b.constant("scale", Tensor::of<float>({1}, {2}));
  const ValueId integers =
      b.constant("w", Tensor::of<std::int8_t>({2, 4, 1, 1}, {1, -2, 3, -4, 5, -6, 7, -8}));
  const ValueId weights =
      b.op("dequantize", {integers, b.constant("scales", Tensor::of<float>({2}, {1, 2}))}, {{"axis", 0}});
  const ValueId image = b.op("dequantize", {b.op("quantize", {x, scale}, {{"dtype", "float32"}}), scale});
  inputs.push_back(model(b.build({flat, b.conv2d(image, weights)}), paddle3::write_model));
  return inputs;
}

Inputs jpegs() {
  Image image = test_image(17, 9);
  return {encode_jpeg(image), encode_jpeg(image, true),
          encode_jpeg(8, 8, 1, std::vector<std::uint8_t>(64, 100)),
          encode_jpeg(2, 2, 4, std::vector<std::uint8_t>(16, 50))};
}

Inputs pngs() {
  std::vector<std::uint8_t> bytes(256, 0x5a);
  return {encode_png(test_image(5, 3)), encode_png(3, 3, bytes, {PNG_COLOR_TYPE_RGB_ALPHA, 16, true}),
          encode_png(4, 4, bytes, {PNG_COLOR_TYPE_GRAY, 1}),
          encode_png(4, 4, bytes,
                     {PNG_COLOR_TYPE_PALETTE, 2, false, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {0, 0, 0}}})};
}

Inputs webps() {
  const Image image = test_image(17, 9);
  return {encode_webp(image, false), encode_webp(image, true)};
}

Inputs bmps() {
  const std::string rows(64, 'x');
  return {encode_bmp(5, -3, rows), encode_bmp(4, 4, rows, {.bits = 8, .palette = {{1, 2, 3}, {4, 5, 6}}}),
          encode_bmp(2, 2, rows, {.bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}}),
          encode_bmp(4, 4, rows, {.bits = 32})};
}

Inputs yamls() {
  return {
      "Deploy:\n  model: inference.pdmodel\n  transforms:\n    - type: ResizeShort\n      size: 256\n"
      "    - type: CenterCrop\n      size: 224\n    - type: Normalize\n      mean: [0.485, 0.456, 0.406]\n"
      "      std: [0.229, 0.224, 0.225]\n"};
}

Inputs lists() {
  return {"passwd 0\ngroup 12\n", "\xef\xbb\xbf\tpasswd\r\n\n  group  \n", "/etc/passwd\t3\nno where.jpg 4\n",
          "passwd group\ngroup passwd\n"};
}

Inputs idx() {
  return {idx_pictures(2), gzip(idx_pictures(2)), idx_labels(5), gzip(idx_labels(5))};
}

Inputs archives() {
  const ArchiveFiles files = {{"top/", ""}, {"top/a", "some text"}, {"b", ""}};
  return {make_zip(files), make_tar(files), make_tar_gz(files), make_tar({{"l", ""}}, '2', "x")};
}

Inputs configs() {
  return {sample_train_config(), sample_ptq_config()};
}

Inputs statistics() {
  ThreadPool pool(1);
  quant::KeptStatistics kept;
  kept.calibration.batches = kept.calibration.pictures = 1;
  std::vector<float> values = {0.5f, -1, 0, 2};
  kept.calibration.tensors["x"].update(0, values, 1, {}, pool);
  kept.calibration.sample = {{Tensor::of<float>({1, 4}, values)}};
  TempDir dir;
  kept.save((dir / "x").string());
  return {read_file(dir / "x")};
}

Inputs onnx_models() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId weight = b.constant("conv.w", Tensor::of<float>({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}));
  ValueId y = b.hard_swish(b.conv2d(x, weight, {.strides = {2, 2}}));
  y = b.softmax(b.flatten(b.global_avg_pool(y)));
  TempDir dir;
  const Graph graph = b.build({y});
  Inputs inputs;
  const auto add = [&](const Graph& model, int opset) {
    save_model(model, dir.path(), {.format = "onnx", .opset = opset});
    inputs.push_back(read_file(dir / "model.onnx"));
  };
  for (int opset : {13, 21}) add(graph, opset);
  for (const attack::NamedGraph& sample : attack::sample_graphs()) {
    add(sample.graph, 17);
    add(quantized(sample.graph, false), 17);
  }
  return inputs;
}

// Texts that a fuzzer would hardly find by itself.
using Words = std::vector<std::string>;

Words paddle_words() {
  Words words;
  for (const auto& rows : {paddle::numeric_rows(), paddle::shape_rows(), paddle::quantization_rows()})
    for (const paddle::OpMap& row : rows) {
      words.emplace_back(row.paddle);
      for (const paddle::AttrMap& attr : row.attrs) words.emplace_back(attr.paddle);
    }
  return words;
}

Words onnx_words() {
  Words words = {"axis",      "axes",   "perm",     "kernel_shape", "strides",  "pads",
                 "dilations", "group",  "auto_pad", "SAME_UPPER",   "keepdims", "alpha",
                 "mode",      "linear", "to",       "block_size"};
  for (const onnx::ReadRow& row : onnx::read_table()) words.emplace_back(row.type);
  return words;
}

Words paddle3_words() {
  Words words;
  for (const auto& rows : {paddle3::numeric_rows(), paddle3::shape_rows(), paddle3::quantization_rows()})
    for (const paddle3::OpMap& row : rows) {
      words.push_back(fmt::format("\"#\":\"1.{}\"", row.name));
      for (const paddle3::AttrMap& attr : row.attrs) words.push_back(fmt::format("\"N\":\"{}\"", attr.name));
    }
  return words;
}

std::string dictionary(Words words) {
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string text;
  for (const std::string& word : words) {
    std::string escaped;
    for (char c : word) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
    text += fmt::format("\"{}\"\n", escaped);
  }
  return text;
}

struct Row {
  const char* target;
  Inputs (*make)();
  Words (*words)() = nullptr;  // where they come from a table; other targets have a file *.dict here, or none
};
// A new target gets a row here.
constexpr Row kRows[] = {{"npy_fuzz", npy},
                         {"npz_fuzz", npzs},
                         {"pickle_fuzz", pickles},
                         {"pdmodel_fuzz", pdmodels, paddle_words},
                         {"paddle3_fuzz", paddle3_models, paddle3_words},
                         {"onnx_fuzz", onnx_models, onnx_words},
                         {"jpeg_fuzz", jpegs},
                         {"png_fuzz", pngs},
                         {"webp_fuzz", webps},
                         {"bmp_fuzz", bmps},
                         {"deploy_yaml_fuzz", yamls},
                         {"list_fuzz", lists},
                         {"idx_fuzz", idx},
                         {"archive_fuzz", archives},
                         {"tipc_config_fuzz", configs},
                         {"statistics_fuzz", statistics}};

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }
  for (const octet::Row& row : octet::kRows) {
    std::filesystem::path folder = std::filesystem::path(argv[1]) / row.target;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& input : row.make())
      octet::write_file(folder / fmt::format("seed{}", number++), input);
    if (row.words) octet::write_file(folder.string() + ".dict", octet::dictionary(row.words()));
  }
  return 0;
}
