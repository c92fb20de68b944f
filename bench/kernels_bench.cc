#include <benchmark/benchmark.h>

#include <array>
#include <random>

#include "runtime/executor.h"
#include "support/graph_runner.h"

// The layers where vision models spend their time, with every implementation that this CPU has, on one
// thread. The counter is multiply-adds a second.
//
//   make bench
//   build/release/octet_bench --benchmark_filter=qconv2d
namespace octet {
namespace {

using testing::Ints;

struct Layer {
  const char* name;
  std::int64_t channels, size, out_channels, kernel, stride, groups;
};

constexpr Layer kLayers[] = {
    {"stem_3x3_s2", 3, 224, 32, 3, 2, 1},          // MobileNet's first
    {"residual_3x3", 64, 56, 64, 3, 1, 1},         // ResNet
    {"deep_3x3", 256, 14, 256, 3, 1, 1},           // ResNet
    {"pointwise", 96, 28, 192, 1, 1, 1},           // MobileNet
    {"deep_pointwise", 576, 7, 96, 1, 1, 1},       // MobileNet
    {"depthwise_3x3", 96, 56, 96, 3, 1, 96},       // MobileNet
    {"depthwise_5x5_s2", 240, 28, 240, 5, 2, 240}  // MobileNetV3, PP-LCNet
};

Tensor random_tensor(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  std::minstd_rand random(1);
  if (dtype == DType::kInt8) {
    std::uniform_int_distribution<int> integers(-127, 127);
    for (std::int8_t& x : tensor.mutable_data<std::int8_t>()) x = static_cast<std::int8_t>(integers(random));
  } else {
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (float& x : tensor.mutable_data<float>()) x = numbers(random);
  }
  return tensor;
}

void run(benchmark::State& state, std::string_view isa, const std::string& op,
         const std::vector<Tensor>& inputs, const Attrs& attrs, std::int64_t multiply_adds) {
  Graph graph = testing::one_node(op, inputs, attrs);
  // Weights and what belongs to them are constants, as in a model.
  for (std::size_t i = 1; i < inputs.size(); ++i) graph.value(graph.nodes[0].inputs[i]).constant = inputs[i];
  graph.inputs.resize(1);
  infer_shapes(graph);
  ThreadPool pool(1);
  Session session(prepare(graph, {false, std::string(isa)}), pool);
  for (auto _ : state) {
    session.run({inputs[0]});
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(multiply_adds * state.iterations()),
                                               benchmark::Counter::kIsRate);
}

void run_conv(benchmark::State& state, std::string_view isa, bool integers, const Layer& layer) {
  DType dtype = integers ? DType::kInt8 : DType::kFloat32;
  std::vector<Tensor> inputs = {
      random_tensor(dtype, {1, layer.channels, layer.size, layer.size}),
      random_tensor(dtype, {layer.out_channels, layer.channels / layer.groups, layer.kernel, layer.kernel})};
  if (integers) inputs.push_back(random_tensor(DType::kFloat32, {layer.out_channels}));  // multiplier
  inputs.push_back(random_tensor(DType::kFloat32, {layer.out_channels}));                // bias
  std::int64_t pad = layer.kernel / 2, out_size = (layer.size - 1) / layer.stride + 1;
  Attrs attrs = {{"strides", Ints{layer.stride, layer.stride}},
                 {"paddings", Ints{pad, pad, pad, pad}},
                 {"groups", layer.groups}};
  std::int64_t multiply_adds =
      out_size * out_size * layer.out_channels * layer.channels / layer.groups * layer.kernel * layer.kernel;
  run(state, isa, integers ? "qconv2d" : "conv2d", inputs, attrs, multiply_adds);
}

void run_matmul(benchmark::State& state, std::string_view isa, bool integers, std::int64_t rows,
                std::int64_t depth, std::int64_t columns) {
  DType dtype = integers ? DType::kInt8 : DType::kFloat32;
  std::vector<Tensor> inputs = {random_tensor(dtype, {rows, depth}), random_tensor(dtype, {depth, columns})};
  if (integers) inputs.push_back(random_tensor(DType::kFloat32, {columns}));  // multiplier
  run(state, isa, integers ? "qmatmul" : "matmul", inputs, {}, rows * depth * columns);
}

void register_all() {
  for (const Isa& isa : isa_list()) {
    if (!isa.available) continue;
    for (bool integers : {false, true}) {
      std::string prefix = integers ? "q" : "";
      auto name = [&](const char* op, const std::string& layer) {
        return std::string(isa.name) + "/" + prefix + op + "/" + layer;
      };
      for (const Layer& layer : kLayers)
        benchmark::RegisterBenchmark(
            name("conv2d", layer.name).c_str(),
            [=, &layer](benchmark::State& state) { run_conv(state, isa.name, integers, layer); });
      // The heads of ResNet-50 and of PP-OCR's recognition.
      for (auto [rows, depth, columns] : {std::array<std::int64_t, 3>{1, 2048, 1000}, {40, 120, 6625}})
        benchmark::RegisterBenchmark(
            name("matmul", std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns))
                .c_str(),
            [=](benchmark::State& state) { run_matmul(state, isa.name, integers, rows, depth, columns); });
    }
  }
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
