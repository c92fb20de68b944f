#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/activation.h"
#include "graph/op_table.h"
#include "kernels/ref/ref.h"
#include "support/paths.h"

// Whether a row of the op table is whole. What else an op needs, tests/train asks (a libtorch counterpart, or
// "not trainable").
namespace octet {
namespace {

// All tests of kernels, as text.
std::string kernel_tests() {
  std::stringstream text;
  for (const char* folder : {"tests/kernels/ref", "tests/kernels/fast"})
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kSourceDir) / folder))
      if (entry.path().string().ends_with("_test.cc")) text << std::ifstream(entry.path()).rdbuf();
  return text.str();
}

// Whether the row says which values the attribute may have.
bool says_what_is_allowed(const AttrSpec& attr) {
  if (std::holds_alternative<bool>(attr.default_value)) return true;
  if (std::holds_alternative<std::string>(attr.default_value)) return !attr.allowed.words.empty();
  return !std::isnan(attr.allowed.min) && !std::isnan(attr.allowed.max);
}

TEST(OpRows, SayAll) {
  const std::string tests = kernel_tests();
  for (const OpSpec& spec : op_table()) {
    SCOPED_TRACE(spec.name);
    EXPECT_NE(spec.infer, nullptr);
    EXPECT_NE(spec.kind, OpKind::kOther);
    EXPECT_NE(ref::find(spec.name), nullptr);
    EXPECT_NE(tests.find('"' + std::string(spec.name) + '"'), std::string::npos) << "no test of a kernel";
    for (const AttrSpec& attr : spec.attrs) EXPECT_TRUE(says_what_is_allowed(attr)) << attr.name;
  }
}

TEST(OpRows, AllowTheirDefaults) {
  for (const OpSpec& spec : op_table()) {
    Node node{.op = std::string(spec.name), .inputs = {}, .outputs = {}, .attrs = {}};
    for (const AttrSpec& attr : spec.attrs) node.attrs.emplace(attr.name, attr.default_value);
    EXPECT_NO_THROW(check_attributes(spec, node)) << spec.name;
  }
}

TEST(OpRows, NameSlotsAndOpsThatExist) {
  for (const OpSpec& spec : op_table()) {
    SCOPED_TRACE(spec.name);
    if (!spec.weights.empty()) {
      EXPECT_GE(slot_of(spec, spec.weights), 0);
      EXPECT_TRUE(spec.channel_axis && spec.multiply_adds);
    }
    for (const auto* slots : {&spec.learned, &spec.statistics})
      for (std::string_view slot : *slots) EXPECT_GE(slot_of(spec, slot), 0) << slot;
    if (!spec.integer_op.empty()) {
      const OpSpec* integer = find_op(spec.integer_op);
      ASSERT_NE(integer, nullptr);
      EXPECT_EQ(integer->kind, spec.kind);
      EXPECT_TRUE(integer->is_integer || integer == &spec);
    }
    bool epilogue = slot_of(spec, "out_scale") >= 0;
    for (const char* name : {"activation", "activation_args", "rounding"})
      EXPECT_TRUE(!epilogue || has_attr(spec, name)) << name;
  }
}

TEST(Slots, AreFoundByName) {
  Node conv{.op = "conv2d", .inputs = {4, 5}, .outputs = {6}, .attrs = {}};
  EXPECT_EQ(input_of(conv, "weight"), 5);
  EXPECT_EQ(input_of(conv, "bias"), kNoValue);
  EXPECT_EQ(input_of(conv, "table"), kNoValue);
  set_input(conv, "residual", 9);
  EXPECT_EQ(conv.inputs, (std::vector<ValueId>{4, 5, kNoValue, kNoValue, 9}));
  EXPECT_EQ(slot_at(conv, 3), "out_scale");
  Node concat{.op = "concat", .inputs = {kNoValue, 1, 2}, .outputs = {3}, .attrs = {}};
  EXPECT_EQ(input_of(concat, "x"), 1);
  EXPECT_EQ(slot_at(concat, 2), "x");
  Node unknown{.op = "paddle:while", .inputs = {1}, .outputs = {2}, .attrs = {}};
  EXPECT_EQ(input_of(unknown, "x"), kNoValue);
  EXPECT_EQ(spec_of(unknown).kind, OpKind::kOther);
}

TEST(Weights, HaveTheirChannelsWhereTheRowSays) {
  Graph graph;
  auto add = [&](const char* op, Shape weight, Attrs attrs) -> const Node& {
    ValueId x = graph.add_value("x"), w = graph.add_value("w", DType::kFloat32, std::move(weight));
    graph.nodes.push_back({.op = op, .inputs = {x, w}, .outputs = {}, .attrs = std::move(attrs)});
    return graph.nodes.back();
  };
  auto expect = [&](const Node& node, int axis, std::int64_t channels) {
    EXPECT_EQ(weight_channel_axis(graph, node), axis) << node.op;
    EXPECT_EQ(output_channels(graph, node), channels) << node.op;
  };
  expect(add("conv2d", {8, 2, 3, 3}, {{"groups", std::int64_t{2}}}), 0, 8);
  expect(add("conv2d_transpose", {8, 2, 3, 3}, {{"groups", std::int64_t{4}}}), 1, 8);
  expect(add("matmul", {5, 7}, {}), 1, 7);
  expect(add("matmul", {5, 7}, {{"transpose_y", true}}), 0, 5);
  expect(add("matmul", {3, 5, 7}, {{"transpose_y", true}}), 1, 5);
  expect(add("matmul", {5}, {}), -1, kUnknown);
  expect(add("matmul_flat", {5, 7}, {}), 1, 7);
  expect(add("matmul_flat", {5, 7, 2}, {}), -1, kUnknown);  // columns in two dimensions
  expect(add("qmatmul", {5, 7}, {{"transpose_y", true}}), 0, 5);
  expect(add("add", {5, 7}, {}), -1, kUnknown);
}

TEST(ActivationTable, GradientsAreThoseOfTheValues) {
  for (const ActivationFunction& function : activation_table()) {
    const ActivationArgs args = activation_args(function, std::span<const double>());
    for (float x : {-5.0f, -1.7f, -0.3f, 0.4f, 1.1f, 2.6f, 7.0f}) {
      constexpr float kStep = 1e-2f;
      double slope = (static_cast<double>(function.value(x + kStep, args)) -
                      static_cast<double>(function.value(x - kStep, args))) /
                     (2 * static_cast<double>(kStep));
      EXPECT_NEAR(function.gradient(x, args), slope, 1e-3) << function.name << " at " << x;
    }
  }
}

TEST(ActivationTable, BoundsHold) {
  for (const ActivationFunction& function : activation_table()) {
    const ActivationArgs args = activation_args(function, std::span<const double>());
    for (float x = -20; x < 20; x += 0.01f)
      ASSERT_GE(static_cast<double>(function.value(x, args)), function.least(args)) << function.name;
  }
}

}  // namespace
}  // namespace octet
