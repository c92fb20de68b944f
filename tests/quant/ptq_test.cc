#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "formats/format.h"
#include "octet/predictor.h"
#include "octet/quantize.h"
#include "passes/passes.h"
#include "quant/equalize.h"
#include "quant/fold.h"
#include "quant/rounding.h"
#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using namespace octet::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

ValueId conv(Builder& b, ValueId x, std::int64_t in, std::int64_t out, const std::string& name,
             std::int64_t groups = 1, std::int64_t kernel = 3) {
  return b.conv2d(x,
                  b.constant(name, ramp({out, in / groups, kernel, kernel},
                                        static_cast<std::uint32_t>(name.size()) + 11)),
                  {.paddings = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}, .groups = groups});
}

// What PTQ has to handle: a depthwise convolution, one of one channel, a residual add, a concat, pools, a
// channel of zeros, a weight that two layers share.
Graph mixed_network() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 16, 16});
  ValueId stem = b.relu(conv(b, x, 3, 8, "stem.w"));
  ValueId deep = b.relu6(conv(b, stem, 8, 8, "deep.ww", 8));
  ValueId sum = b.relu(b.add(conv(b, deep, 8, 8, "point.www", 1, 1), stem));
  Tensor zeros = ramp({8, 8, 1, 1}, 77);
  std::fill_n(zeros.mutable_data<float>().begin(), 8, 0.0f);
  ValueId shared = b.constant("shared", zeros);
  ValueId left = b.relu(b.conv2d(sum, shared)), right = b.relu(b.conv2d(left, shared));
  ValueId joined = b.concat({left, right}, 1);
  ValueId pooled = b.max_pool(joined, {.kernel = {2, 2}, .strides = {2, 2}});
  ValueId one = conv(b, pooled, 16, 1, "one.w", 1, 1);
  ValueId last = b.relu(conv(b, one, 1, 4, "last.w"));
  ValueId flat = b.flatten(b.global_avg_pool(last));
  return b.build(
      {b.add(b.matmul(flat, b.constant("fc", ramp({4, 5}, 5))), b.constant("fc.b", ramp({5}, 6)))});
}

BatchGenerator batches_of(Shape shape, int count = 4) {
  return [=](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= count) return false;
    Tensor x = ramp(shape, static_cast<std::uint32_t>(i) + 100);
    inputs = {{shape, {x.data<float>().begin(), x.data<float>().end()}}};
    return true;
  };
}

Model model_of(Graph graph) {
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

double sqnr(const Graph& expected, const Graph& found, const Tensor& x) {
  Tensor a = run_graph(expected, {x})[0], b = run_graph(found, {x}, true)[0];
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < a.data<float>().size(); ++i) {
    double e = a.data<float>()[i], d = e - static_cast<double>(b.data<float>()[i]);
    signal += e * e, noise += d * d;
  }
  return 10 * std::log10(signal / noise);
}

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.op == op;
  return n;
}

TEST(Quantize, EveryAlgorithmFormatAndDeploymentWorks) {
  Graph graph = mixed_network();
  for (const char* algo : {"KL", "hist", "mse", "emd", "avg", "abs_max", "min_max", "ptf", "auto"})
    for (const char* deploy : {"octet", "paddle"})
      for (bool onnx_format : {true, false}) {
        QuantizeOptions options;
        options.algo = algo;
        options.deploy = deploy;
        options.onnx_format = onnx_format;
        options.hist_percent = 0.9999;
        Model result = quantize(model_of(graph), batches_of({2, 3, 16, 16}), options);
        EXPECT_TRUE(result.is_quantized());
        EXPECT_GT(sqnr(graph, *result.graph(), ramp({2, 3, 16, 16}, 101)), 15)
            << algo << " " << deploy << " " << onnx_format;
      }
}

TEST(Quantize, TwoPassesServeEveryAlgorithm) {
  Graph graph = mixed_network();
  for (const char* algo : {"KL", "hist", "mse", "emd", "avg", "abs_max", "min_max", "ptf", "auto"}) {
    QuantizeOptions options;
    options.algo = algo;
    const Tensor x = ramp({8, 3, 16, 16}, 100);
    const double one =
        sqnr(graph, *quantize(model_of(graph), batches_of({8, 3, 16, 16}), options).graph(), x);
    options.two_pass = true;
    const double two =
        sqnr(graph, *quantize(model_of(graph), batches_of({8, 3, 16, 16}), options).graph(), x);
    EXPECT_GT(two, one - 3) << algo;
  }
}

TEST(Quantize, FilesAreReadBackAsTheyWere) {
  Graph graph = mixed_network();
  for (bool onnx_format : {true, false}) {
    TempDir dir;
    QuantizeOptions options;
    options.onnx_format = onnx_format;
    Model result = quantize(model_of(graph), batches_of({2, 3, 16, 16}), options);
    result.save(dir.path().string(), {.model_file = "__model__", .weights_file = "__params__"});
    Model read = Model::load(dir.path().string());
    Tensor x = ramp({2, 3, 16, 16}, 9);
    EXPECT_EQ(values<float>(run_graph(*result.graph(), {x}, true)[0]),
              values<float>(run_graph(*read.graph(), {x}, true)[0]));
  }
}

TEST(Quantize, ActivationsStayIntegersForOctet) {
  QuantizeOptions options;
  options.algo = "abs_max";
  Graph found = *quantize(model_of(mixed_network()), batches_of({2, 3, 16, 16}), options).graph();
  std::shared_ptr<const Executable> ready = prepare(found, {true, "ref"});
  EXPECT_EQ(count(ready->graph, "conv2d"), 0);
  EXPECT_EQ(count(ready->graph, "pool2d"), 1) << "the global one";
  EXPECT_EQ(count(ready->graph, "qpool2d"), 1);
  EXPECT_EQ(count(ready->graph, "quantize"), 2) << "of the picture, and of the means";
}

TEST(Quantize, LayersCanBeKeptInFloat) {
  QuantizeOptions options;
  options.keep_float = {"one.*", "matmul_v2"};
  options.float_share = 0;  // none besides
  QuantizeReport report;
  Graph found = *quantize(model_of(mixed_network()), batches_of({2, 3, 16, 16}), options, &report).graph();
  EXPECT_EQ(found.value(found.find_value("one.w")).dtype, DType::kFloat32);
  EXPECT_EQ(found.value(found.find_value("fc")).dtype, DType::kFloat32);
  EXPECT_EQ(found.value(found.find_value("last.w")).dtype, DType::kInt8);
  EXPECT_EQ(report.kept_float.size(), 2u);
}

TEST(Quantize, LayersAreKnownByTheNamesOfTheFloatModel) {
  Graph graph = small_network();  // begins with a convolution and a batch norm, which is folded
  for (std::size_t i : {0u, 1u}) {
    QuantizeOptions options;
    options.keep_float = {graph.value(graph.nodes[i].outputs[0]).name};
    QuantizeReport report;
    quantize(model_of(graph), batches_of({2, 3, 8, 8}), options, &report);
    EXPECT_THAT(report.kept_float, ElementsAre(graph.value(graph.nodes[0].outputs[0]).name)) << i;
  }
}

TEST(Quantize, AWeightThatIsAlsoReadAsFloatStaysBesideItsIntegers) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4});
  ValueId w = b.constant("w", ramp({4, 4}, 3));
  Graph graph = b.build({b.matmul(x, w), b.relu(w)});
  Graph found = *quantize(model_of(graph), batches_of({2, 4})).graph();
  EXPECT_EQ(found.value(found.find_value("w")).dtype, DType::kFloat32);
  EXPECT_EQ(found.value(found.find_value("w.int8")).dtype, DType::kInt8);
}

// Also where it is a result of the model itself.
TEST(Quantize, AWeightThatIsAnOutputStaysBesideItsIntegers) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 16, 16}), w = b.constant("w", ramp({4, 3, 3, 3}));
  const ValueId y = b.conv2d(x, w);
  const Model quantized = quantize(model_of(b.build({y, w})), batches_of({2, 3, 16, 16}));
  EXPECT_EQ(quantized.graph()->value(quantized.graph()->outputs[1]).dtype, DType::kFloat32);
  EXPECT_TRUE(is_quantized(*quantized.graph()));
}

TEST(Quantize, StatisticsAreKeptAndUsedAgain) {
  TempDir dir;
  Model model = model_of(mixed_network());
  BatchGenerator no_pictures = [](std::int64_t, std::vector<FloatArray>&) { return false; };
  auto report_of = [&](const BatchGenerator& batches, const QuantizeOptions& options) {
    QuantizeReport report;
    quantize(model, batches, options, &report);
    return report;
  };
  QuantizeOptions options;
  options.algo = "mse";
  options.save_stats = (dir / "stats").string();
  report_of(batches_of({2, 3, 16, 16}), options);
  const std::string stats = std::exchange(options.save_stats, "");
  // All that can be done with the pictures can be done without.
  for (const char* algo : {"KL", "hist", "mse", "emd", "avg", "abs_max", "min_max", "ptf", "auto"})
    for (const char* round_type : {"round", "adaround"}) {
      options.algo = algo;
      options.round_type = round_type;
      options.load_stats = "";
      QuantizeReport expected = report_of(batches_of({2, 3, 16, 16}), options);
      options.load_stats = stats;
      QuantizeReport found = report_of(no_pictures, options);
      ASSERT_EQ(found.layers.size(), expected.layers.size());
      EXPECT_EQ(found.samples, expected.samples);
      for (std::size_t i = 0; i < found.layers.size(); ++i) {
        EXPECT_EQ(found.layers[i].threshold, expected.layers[i].threshold) << algo;
        EXPECT_EQ(found.layers[i].sqnr_db, expected.layers[i].sqnr_db) << algo;
      }
    }
}

TEST(Quantize, KeptStatisticsThatDoNotFitAreRefused) {
  TempDir dir;
  Model model = model_of(mixed_network());
  QuantizeOptions options;
  options.save_stats = (dir / "stats").string();
  quantize(model, batches_of({2, 3, 16, 16}), options);
  auto error_with = [&](const std::string& file, auto change) {
    QuantizeOptions other;
    other.load_stats = (dir / file).string();
    change(other);
    return error_of([&] { quantize(model, batches_of({2, 3, 16, 16}), other); });
  };
  auto as_is = [](QuantizeOptions&) {};
  EXPECT_THAT(error_with("stats", [](auto& o) { o.activation_bits = 4; }),
              HasSubstr("with activation_bits 8"));
  EXPECT_THAT(error_with("stats", [](auto& o) { o.equalize = true; }), HasSubstr("without equalize"));
  EXPECT_THAT(error_with("stats", [](auto& o) { o.two_pass = true; }), HasSubstr("two_pass"));
  EXPECT_THAT(error_with("stats", [](auto& o) { o.is_full_quantize = true; }), HasSubstr("has nothing on"));
  EXPECT_THAT(error_with("none", as_is), HasSubstr("none"));
  // Damaged: cut off anywhere, or with something behind it.
  const std::string whole = read_file(dir / "stats");
  for (std::size_t size : {std::size_t{0}, std::size_t{9}, whole.find('\n'), whole.find('\n') + 1,
                           whole.find('\n') + 9, whole.size() - 1}) {
    write_file(dir / "cut", whole.substr(0, size));
    EXPECT_THAT(error_with("cut", as_is), HasSubstr("not a file that save_stats")) << size;
  }
  write_file(dir / "long", whole + "x");
  EXPECT_THAT(error_with("long", as_is), HasSubstr("not a file that save_stats"));
}

TEST(Quantize, BiasCorrectionAndAdaroundHelp) {
  Graph graph = mixed_network();
  Tensor x = ramp({8, 3, 16, 16}, 100);
  auto quality = [&](bool correct, const char* round) {
    QuantizeOptions options;
    options.algo = "abs_max";
    options.bias_correction = correct;
    options.round_type = round;
    options.weight_bits = 4;
    return sqnr(graph, *quantize(model_of(graph), batches_of({8, 3, 16, 16}), options).graph(), x);
  };
  double plain = quality(false, "round");
  EXPECT_GT(quality(true, "round"), plain + 3);
  EXPECT_GT(quality(false, "adaround"), plain + 3);
}

TEST(Quantize, BiasesOfLayersThatAdaroundCanNotRoundAreCorrected) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId middle = b.relu(conv(b, x, 3, 4, "first"));
  Graph graph =
      b.build({b.conv2d_transpose(middle, b.constant("up", ramp({4, 2, 2, 2}, 9)), {.strides = {2, 2}})});
  for (int bits : {4, 8}) {
    QuantizeOptions options;
    options.round_type = "adaround";
    options.weight_bits = bits;
    Graph found = *quantize(model_of(graph), batches_of({2, 3, 8, 8}), options).graph();
    EXPECT_EQ(count(found, "add"), 2) << bits;  // a correction for each of the two
  }
}

// Smooth pictures, as real ones are: neighbours are alike, so errors of neighbouring weights can cancel.
Tensor smooth(Shape shape, std::uint32_t seed) {
  Tensor x = ramp(shape, seed).clone();
  std::span<float> data = x.mutable_data<float>();
  for (std::size_t i = 1; i < data.size(); ++i) data[i] = 0.9f * data[i - 1] + 0.1f * data[i];
  return x;
}

TEST(OutputRounding, TheOutputChangesLess) {
  for (std::int64_t groups : {1, 2, 6}) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 6, 12, 12});
    Tensor weight = ramp({12, 6 / groups, 3, 3}, 21);
    Graph graph =
        b.build({b.conv2d(x, b.constant("w", weight), {.paddings = {1, 1, 1, 1}, .groups = groups})});
    Tensor input = smooth({4, 6, 12, 12}, 3), unseen = smooth({4, 6, 12, 12}, 9);
    quant::QuantizedWeight nearest = quant::quantize_weight(weight, 0, 3), rounded = nearest;
    rounded.integers = nearest.integers.clone();
    ThreadPool pool(2);
    quant::OutputRounding rounding(graph.nodes[0], weight, 0);
    rounding.add(graph.nodes[0], input, input, 1, pool);
    rounding.round(&rounded, false, pool);
    auto quality = [&](const quant::QuantizedWeight& q, const Tensor& data) {
      Graph other = graph;
      other.value(other.find_value("w")).constant = quant::dequantize_weight(q);
      return sqnr(graph, other, data);
    };
    EXPECT_GT(quality(rounded, input), quality(nearest, input) + 1.5) << groups;
    EXPECT_GT(quality(rounded, unseen), quality(nearest, unseen) + 1) << groups;
    for (std::size_t i = 0; i < values<std::int8_t>(rounded.integers).size(); ++i)
      EXPECT_LE(std::abs(rounded.integers.data<std::int8_t>()[i] - nearest.integers.data<std::int8_t>()[i]),
                1);
  }
}

TEST(Quantize, SaysWhatIsWrong) {
  Model model = model_of(mixed_network());
  auto error = [&](auto change, const BatchGenerator& batches = batches_of({2, 3, 16, 16})) {
    QuantizeOptions options;
    change(options);
    return error_of([&] { quantize(model, batches, options); });
  };
  EXPECT_THAT(error([](auto& o) { o.algo = "best"; }), HasSubstr("KL, hist, mse"));
  EXPECT_THAT(error([](auto& o) { o.weight_bits = 16; }), HasSubstr("2 to 8"));
  EXPECT_THAT(error([](auto& o) { o.quantizable_op_type = {"softmx"}; }), HasSubstr("softmx"));
  EXPECT_THAT(error([](auto& o) { o.keep_float = {"*"}; }), HasSubstr("nothing to quantize"));
  EXPECT_THAT(error([](auto&) {}, [](std::int64_t, std::vector<FloatArray>&) { return false; }),
              HasSubstr("no data"));
  Model twice = quantize(model, batches_of({2, 3, 16, 16}));
  EXPECT_THAT(error_of([&] { quantize(twice, batches_of({2, 3, 16, 16})); }), HasSubstr("quantized already"));
}

TEST(Ptq, WeightsThatAreNoNumbersAreRefused) {
  for (float bad : {std::nanf(""), INFINITY}) {
    Graph graph = mixed_network();
    graph.value(graph.find_value("deep.ww")).constant.mutable_data<float>()[3] = bad;
    TempDir dir;
    save_model(graph, dir.path());
    EXPECT_THAT(error_of([&] {
                  quantize(Model::load(dir.path()), batches_of({2, 3, 16, 16}));
                }),
                HasSubstr("1 of the 72 numbers of deep.ww are NaN or infinite"));
  }
}

TEST(Ptq, PicturesThatAreNoNumbersAreRefused) {
  for (float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    const BatchGenerator good = batches_of({2, 3, 16, 16});
    const auto batches = [&](std::int64_t index, std::vector<FloatArray>& inputs) {
      if (!good(index, inputs)) return false;
      if (index == 1) inputs[0].values[5] = bad;
      return true;
    };
    EXPECT_THAT(error_of([&] { quantize(model_of(mixed_network()), batches); }),
                HasSubstr("batch 1: 1 of the 1536 numbers for the input x are NaN or infinite"));
  }
}

// Layers that get nothing, with and without rows.
TEST(Ptq, ANetworkMayCutAllOfItsDataAway) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 1, 8});
  const ValueId y = b.matmul(x, b.constant("w", ramp({8, 8}, 3)));
  const ValueId cut = b.slice(y, {1}, {1}, {7});
  const ValueId rows = b.matmul(cut, b.constant("w1", ramp({8, 5}, 4)));
  const ValueId none = b.matmul(b.reshape(cut, {-1, 8}), b.constant("w2", ramp({8, 6}, 5)));
  const Model model = model_of(b.build({y, rows, none}));
  for (const char* algo : {"auto", "KL", "mse"})
    for (const char* round : {"round", "adaround"}) {
      QuantizeOptions options;
      options.algo = algo;
      options.round_type = round;
      options.is_full_quantize = true;
      SCOPED_TRACE(fmt::format("{} {}", algo, round));
      const Model quantized = quantize(model, batches_of({4, 1, 8}), options);
      EXPECT_TRUE(quantized.is_quantized());
    }
}

// Attention's masks hold -inf, and nobody needs their range.
TEST(Ptq, MasksMayBeInfiniteButNotNaN) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 8}), mask = b.input("mask", {kUnknown, 8});
  const ValueId y = b.matmul(x, b.constant("w", ramp({8, 8}, 3)));
  const Model model = model_of(b.build({b.softmax(b.add(y, mask), 1)}));
  const auto batches = [](float last) {
    return [last](std::int64_t index, std::vector<FloatArray>& inputs) {
      const Tensor x = ramp({2, 8}, 5);
      std::vector<float> mask(16, 0);
      mask[7] = mask[15] = last;
      inputs = {{x.shape(), {x.data<float>().begin(), x.data<float>().end()}}, {{2, 8}, mask}};
      return index < 3;
    };
  };
  QuantizeOptions options;
  options.algo = "abs_max";
  EXPECT_TRUE(quantize(model, batches(-INFINITY), options).is_quantized());
  EXPECT_THAT(error_of([&] { quantize(model, batches(std::nanf("")), options); }),
              HasSubstr("2 of the 16 numbers for the input mask are NaN"));
}

// The first layer looks for differences in the hundredths between numbers near 6, with few multiplications.
Graph sensitive_network(bool gives_classes) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 12, 12});
  Tensor pairs(DType::kFloat32, {4, 2, 1, 2});
  for (std::size_t i = 0; i < 16; ++i) pairs.mutable_data<float>()[i] = i % 2 == 0 ? 50.0f : -50.0f;
  ValueId differences = b.conv2d(x, b.constant("differences", pairs), {.groups = 2});
  ValueId wide = b.relu(conv(b, differences, 4, 64, "wide"));
  ValueId scores = conv(b, wide, 64, 8, "end", 1, 1);
  return b.build({gives_classes ? b.arg_max(scores, 1) : scores});
}

TEST(Quantize, ACheapLayerThatMakesMostOfTheErrorStaysInFloat) {
  Graph graph = sensitive_network(false), classes = sensitive_network(true);
  Shape shape = {2, 4, 12, 12};
  auto batches = [&](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= 4) return false;
    Tensor x = ramp(shape, static_cast<std::uint32_t>(i) + 100);
    inputs = {{shape, {}}};
    for (float value : x.data<float>()) inputs[0].values.push_back(6 + 0.02f * value);
    return true;
  };
  auto quantized = [&](const Graph& network, double float_share, const char* algo) {
    QuantizeOptions options;
    options.float_share = float_share;
    options.algo = algo;
    QuantizeReport report;
    quantize(model_of(network), batches, options, &report);
    return report;
  };
  std::string layer = graph.value(graph.nodes[0].outputs[0]).name;
  QuantizeReport mixed = quantized(graph, 0.02, "auto"), integers = quantized(graph, 0, "auto");
  EXPECT_THAT(mixed.kept_float, ElementsAre(layer));
  EXPECT_THAT(integers.kept_float, IsEmpty());
  EXPECT_GT(mixed.outputs[0].sqnr_db, integers.outputs[0].sqnr_db + 10);
  EXPECT_THAT(quantized(classes, 0.02, "auto").kept_float, ElementsAre(layer));
  EXPECT_THAT(quantized(graph, 0.001, "auto").kept_float, IsEmpty());  // it has more of the multiplications
  EXPECT_THAT(quantized(graph, 0.02, "hist").kept_float, IsEmpty());  // who names an algorithm gets just that
  EXPECT_THAT(error_of([&] { quantized(graph, 1.5, "auto"); }), ::testing::StartsWith("float_share 1.5"));
}

// Rounded to nearest, its weights shift everything, which is most of the error until the biases make up for
// it.
TEST(Quantize, ALayerWhoseErrorIsTakenOutByBiasesDoesNotStayInFloat) {
  constexpr std::size_t kChannels = 16;
  Builder b;
  const ValueId x = b.input("x", {kUnknown, kChannels, 12, 12});
  Tensor weight(DType::kFloat32, {kChannels, kChannels, 1, 1});
  for (std::size_t i = 0; i < kChannels * kChannels; ++i)
    weight.mutable_data<float>()[i] = i / kChannels == i % kChannels ? 127.0f : 1.45f;
  const ValueId shifted = b.conv2d(x, b.constant("shifted", weight));
  const ValueId wide = b.relu(b.conv2d(shifted, b.constant("wide", ramp({64, kChannels, 1, 1}, 3))));
  Graph graph = b.build({b.conv2d(wide, b.constant("end", ramp({8, 64, 1, 1}, 5)))});
  const Shape shape = {2, kChannels, 12, 12};
  auto batches = [&](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= 4) return false;
    const Tensor values = ramp(shape, static_cast<std::uint32_t>(i) + 100);
    inputs = {{shape, {}}};
    for (float value : values.data<float>()) inputs[0].values.push_back(6 + value);
    return true;
  };
  auto kept_float = [&](bool bias_correction) {
    QuantizeOptions options;
    options.float_share = 0.5;
    options.round_type = "round";
    options.bias_correction = bias_correction;
    QuantizeReport report;
    quantize(model_of(graph), batches, options, &report);
    return report.kept_float;
  };
  EXPECT_THAT(kept_float(true), IsEmpty());
  EXPECT_THAT(kept_float(false), ElementsAre(graph.value(graph.nodes[0].outputs[0]).name));
}

// As the sensitive network, but with many weights: they are integers in the file all the same.
TEST(Quantize, ALayerThatStaysInFloatMayHaveIntegerWeights) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 64, 1, 1});
  Tensor pairs(DType::kFloat32, {64, 64, 1, 1});
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t k = 0; k < 64; ++k)
      pairs.mutable_data<float>()[i * 64 + k] = k == i ? 50.0f : k == (i + 1) % 64 ? -50.0f : 0.0f;
  ValueId differences = b.conv2d(x, b.constant("differences", pairs));
  ValueId wide = b.resize(b.relu(differences), {.out_h = 16, .out_w = 16});
  Graph graph = b.build({conv(b, wide, 64, 64, "end")});
  Shape shape = {2, 64, 1, 1};
  auto batches = [&](std::int64_t i, std::vector<FloatArray>& inputs) {
    if (i >= 4) return false;
    Tensor values = ramp(shape, static_cast<std::uint32_t>(i) + 100);
    inputs = {{shape, {}}};
    for (float value : values.data<float>()) inputs[0].values.push_back(6 + 0.02f * value);
    return true;
  };
  QuantizeReport report;
  Model model = quantize(model_of(graph), batches, {}, &report);
  EXPECT_THAT(report.kept_float, ElementsAre(graph.value(graph.nodes[0].outputs[0]).name));
  const Graph& made = *model.graph();
  EXPECT_EQ(made.value(made.find_value("differences")).dtype, DType::kInt8);
  QuantizeOptions older;
  older.onnx_format = false;
  const Graph floats = *quantize(model_of(graph), batches, older).graph();
  EXPECT_EQ(floats.value(floats.find_value("differences")).dtype, DType::kFloat32);
}

TEST(FoldForFiles, KeepsNamesAndResults) {
  Graph graph = small_network(), folded = graph;
  quant::fold_batch_norms_in_file(folded);
  infer_shapes(folded);
  verify(folded);
  EXPECT_EQ(count(folded, "batch_norm"), 0);
  EXPECT_EQ(folded.nodes[0].inputs.size(), 2u);
  EXPECT_EQ(folded.value(folded.nodes[0].inputs[1]).name, "conv.w");
  EXPECT_EQ(folded.value(folded.nodes[0].outputs[0]).name, graph.value(graph.nodes[0].outputs[0]).name);
  EXPECT_EQ(folded.value(folded.nodes[1].outputs[0]).name, graph.value(graph.nodes[1].outputs[0]).name);
  Tensor x = ramp({2, 3, 8, 8}, 4);
  std::vector<float> a = values<float>(run_graph(graph, {x})[0]),
                     b = values<float>(run_graph(folded, {x})[0]);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(Equalize, ChangesChannelsAndNotTheResult) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  Tensor wide = ramp({6, 3, 3, 3}, 8).clone();
  for (std::size_t i = 0; i < 27; ++i) wide.mutable_data<float>()[i] *= 100;  // one channel is much larger
  ValueId first = b.conv2d(x, b.constant("a", wide));
  ValueId y = b.relu(b.add(first, b.constant("a.b", ramp({6}, 3)), 1));
  Graph graph = b.build({b.conv2d(y, b.constant("b", ramp({4, 6, 1, 1}, 9)))}), equal = graph;
  ThreadPool pool(1);
  Tensor input = ramp({2, 3, 8, 8}, 4);
  EXPECT_EQ(quant::equalize(equal, quant::Equalization::kAll, {{input}}, pool), 1);
  EXPECT_NE(values<float>(equal.value(equal.find_value("a")).constant), values<float>(wide));
  std::vector<float> u = values<float>(run_graph(graph, {input})[0]),
                     v = values<float>(run_graph(equal, {input})[0]);
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], v[i], 1e-3 * std::max(1.0f, std::fabs(u[i])));
}

TEST(Equalize, AResidualStreamIsScaledAsAWhole) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  auto biased = [&](ValueId y, const std::string& name, std::int64_t channels) {
    return b.add(y, b.constant(name, ramp({channels}, 3)), 1);
  };
  ValueId stream = biased(b.conv2d(x, b.constant("a", ramp({6, 3, 1, 1}, 8))), "a.b", 6);
  for (const char* name : {"p", "q"}) {
    std::string n = name;
    ValueId wide = b.relu6(b.conv2d(stream, b.constant(n + "1", ramp({9, 6, 1, 1}, 9))));
    stream = b.add(stream, biased(b.conv2d(wide, b.constant(n + "2", ramp({6, 9, 1, 1}, 10))), n + ".b", 6));
  }
  Graph graph = b.build({b.relu6(b.conv2d(stream, b.constant("end", ramp({4, 6, 1, 1}, 9))))}), equal = graph;
  ThreadPool pool(1);
  Tensor input = ramp({2, 3, 8, 8}, 4);
  EXPECT_EQ(quant::equalize(equal, quant::Equalization::kAll, {{input}}, pool), 1);
  EXPECT_NE(values<float>(equal.value(equal.find_value("p2")).constant),
            values<float>(graph.value(graph.find_value("p2")).constant));
  std::vector<float> u = values<float>(run_graph(graph, {input})[0]),
                     v = values<float>(run_graph(equal, {input})[0]);
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], v[i], 1e-4);
}

}  // namespace
}  // namespace octet
