#include "train/device_graph.h"

#include <gtest/gtest.h>

#include "metrics/compare.h"
#include "support/graph_runner.h"
#include "support/pictures.h"
#include "train/convert.h"
#include "train/network.h"
#include "train/quantized_ops.h"
#include "train/small_network.h"

// Graphs on libtorch's device as on octet's own kernels. The device here is the CPU: the code is the same for
// a GPU.
namespace octet::train {

namespace {

using octet::testing::one_node;
using octet::testing::random_floats;
using octet::testing::run_node_multi;
using octet::testing::small_network;

// Numbers of all sizes, halves among them, and what is no number.
Tensor odd_numbers() {
  Tensor x = random_floats({2, 3, 4, 5}, 7, -3, 3);
  auto data = x.mutable_data<float>();
  const float special[] = {0.0f, -0.0f, 0.5f, 1.5f, -0.5f, 2.5f, 1e30f, -1e30f, 1e-30f, INFINITY, -INFINITY};
  std::copy(std::begin(special), std::end(special), data.begin());
  return x;
}

Tensor floats(std::vector<float> values) {
  Tensor tensor(DType::kFloat32, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.mutable_data<float>().begin());
  return tensor;
}

void expect_as_reference(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                         int outputs = 1) {
  const std::vector<Tensor> expected = run_node_multi(op, inputs, attrs, outputs);
  const Graph graph = one_node(op, inputs, attrs, outputs);
  std::vector<at::Tensor> given;
  for (const Tensor& input : inputs) given.push_back(input.empty() ? at::Tensor() : to_torch(input));
  const std::vector<at::Tensor> actual = find_quantization(op)({.node = graph.nodes[0], .inputs = given});
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const Tensor ours = from_torch(actual[i]);
    ASSERT_EQ(ours.dtype(), expected[i].dtype());
    ASSERT_EQ(ours.shape(), expected[i].shape());
    const Tensor a = ours.cast(DType::kFloat64), b = expected[i].cast(DType::kFloat64);
    for (std::size_t k = 0; k < a.data<double>().size(); ++k)
      ASSERT_EQ(a.data<double>()[k], b.data<double>()[k])
          << op << " of " << (inputs[0].dtype() == DType::kFloat32 ? inputs[0].data<float>()[k] : 0.0f);
  }
}

TEST(DeviceQuantization, GivesTheIntegersOfTheReference) {
  const Tensor x = odd_numbers(), scale = floats({2.0f}), scales = floats({0.5f, 2.0f, 0.0f});
  const Tensor zeros = floats({3, -2, 0}).cast(DType::kInt32);
  for (const char* rounding : {"even", "away"})
    for (const char* dtype : {"int8", "float32"})
      for (std::int64_t bits : {4, 8}) {
        const Attrs attrs = {{"rounding", rounding}, {"dtype", dtype}, {"bits", bits}};
        Attrs along = attrs, step = attrs;
        along["axis"] = std::int64_t{1};
        step["unit"] = "step";
        expect_as_reference("quantize", {x, scale}, attrs);
        expect_as_reference("quantize", {x, scales}, along);
        expect_as_reference("quantize", {x, scale, zeros}, step);
        step["axis"] = std::int64_t{1};
        expect_as_reference("quantize", {x, floats({0.1f, 0.2f, 0.3f}), zeros}, step);
      }
}

TEST(DeviceQuantization, TurnsNoNumberIntoTheLowestInteger) {
  Tensor x = random_floats({4}, 1);
  x.mutable_data<float>()[2] = NAN;
  expect_as_reference("quantize", {x, floats({1.0f})}, {});
}

TEST(DeviceQuantization, GoesBackAsTheReferenceDoes) {
  const Tensor x = run_node_multi("quantize", {odd_numbers(), floats({2.0f})}, {}, 1)[0];
  const Tensor scales = floats({0.7f, 2.1f, 0.3f}), zeros = floats({3, -2, 0}).cast(DType::kInt32);
  expect_as_reference("dequantize", {x, floats({2.0f})}, {});
  expect_as_reference("dequantize", {x, scales}, {{"axis", std::int64_t{1}}});
  expect_as_reference("dequantize", {x, scales, zeros}, {{"axis", std::int64_t{1}}, {"unit", "step"}});
  expect_as_reference("dequantize", {x.cast(DType::kInt32), scales}, {});
  const Tensor held = x.cast(DType::kFloat32);
  expect_as_reference("dequantize_sum", {held, scales}, {{"axis", std::int64_t{1}}});
  expect_as_reference("dequantize_sum", {held, scales, floats({1.3f})}, {});
  expect_as_reference("dequantize_range", {held, floats({1.3f})}, {});
}

TEST(DeviceQuantization, SimulatesAsTheReferenceDoes) {
  const Tensor x = random_floats({2, 3, 4, 5}, 3, -3, 3);
  for (const char* rounding : {"even", "away"}) {
    expect_as_reference("fake_quant", {x, floats({2.0f})}, {{"rounding", rounding}});
    for (std::int64_t axis : {-1, 0, 1, 2}) {
      expect_as_reference("dynamic_quantize", {x}, {{"rounding", rounding}, {"axis", axis}}, 2);
      expect_as_reference("dynamic_fake_quant", {x}, {{"rounding", rounding}, {"axis", axis}}, 2);
    }
  }
}

Comparison held_against(const Tensor& expected, const Tensor& actual) {
  EXPECT_EQ(expected.shape(), actual.shape());
  return compare(expected.data<float>(), actual.data<float>());
}

std::vector<Tensor> run_here(const Graph& graph, const Tensor& x) {
  ThreadPool pool(1);
  return execute(prepare(graph, {}), {x}, pool);
}

TEST(DeviceGraph, AnswersAsTheRuntimeDoes) {
  const Graph graph = small_network();
  const Tensor x = random_floats({2, 3, 20, 20}, 5);
  const std::vector<Tensor> outputs = open_device("cpu", "fp32")->load(graph, {})({x}, {});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_LT(held_against(run_here(graph, x)[0], outputs[0]).max_abs_difference, 1e-5);
}

TEST(DeviceGraph, InHalfPrecisionIsClose) {
  const Graph graph = small_network();
  const Tensor x = random_floats({2, 3, 20, 20}, 5);
  const std::vector<Tensor> outputs = open_device("cpu", "fp16")->load(graph, {})({x}, {});
  const Comparison result = held_against(run_here(graph, x)[0], outputs[0]);
  EXPECT_LT(result.max_abs_difference, 5e-3);
  EXPECT_GT(result.max_abs_difference, 1e-6);  // it is another precision
}

TEST(DeviceGraph, SimulatesAQuantizedGraph) {
  Network network(small_network(), at::kCPU);
  const Tensor x = random_floats({2, 3, 20, 20}, 5);
  network.quantize({}, to_torch(x));
  for (bool onnx_format : {true, false}) {
    const Graph graph = network.deployed(onnx_format);
    const std::vector<Tensor> outputs = open_device("cpu", "fp32")->load(graph, {})({x}, {});
    const Comparison result = held_against(run_here(graph, x)[0], outputs[0]);
    EXPECT_GT(result.cosine, 0.9999);
    // It is the quantized network that ran: the float one answers something else.
    EXPECT_GT(held_against(run_here(small_network(), x)[0], outputs[0]).max_abs_difference,
              2 * result.max_abs_difference);
  }
}

TEST(DeviceGraph, ShowsWhatIsObserved) {
  const Graph graph = small_network();
  const Tensor x = random_floats({1, 3, 20, 20}, 5);
  const ValueId observed = graph.nodes[2].outputs[0];
  std::map<ValueId, Tensor> here, there;
  ThreadPool pool(1);
  Session session(prepare(graph, {.ir_optim = false, .observed = {observed}}), pool);
  session.run({x}, nullptr, [&](ValueId id, const Tensor& tensor) {
    if (id == observed) here[id] = tensor.clone();
  });
  open_device("cpu", "fp32")->load(graph, {observed})({x}, [&](ValueId id, const Tensor& tensor) {
    there[id] = tensor;
  });
  ASSERT_EQ(there.size(), 1u);
  ASSERT_EQ(here.size(), 1u);
  EXPECT_EQ(there[observed].size(), here[observed].size());
}

TEST(DeviceGraph, ADeviceThatIsNotThereIsNamed) {
  try {
    open_device("gpu:7", "fp32");
    GTEST_SKIP() << "there are eight GPUs here";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("gpu:7"), std::string::npos) << error.what();
  }
}

}  // namespace

}  // namespace octet::train
