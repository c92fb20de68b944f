#include "formats/paddle3/branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/paddle3/model_io.h"
#include "formats/paddle3/spelling.h"
#include "support/temp_dir.h"

namespace octet::paddle3 {
namespace {

using ::testing::ElementsAre;

std::string floats() {
  return type_text(DType::kFloat32, {-1, 4});
}

std::string full(Id id, double value, const char* dtype = "bool") {
  return op_text("1.full", {},
                 {{"shape", Tag::kIntArray, std::vector<std::int64_t>{}},
                  {"value", Tag::kFloat64, value},
                  {"dtype", Tag::kDType, std::string(dtype)},
                  {"place", Tag::kPlace}},
                 {{id, type_text(DType::kBool, {})}});
}

std::string unary(const char* name, Id x, Id y) {
  return op_text(name, {x}, {}, {{y, floats()}});
}

std::string region(const std::vector<std::string>& ops, std::vector<Id> results) {
  std::string text = R"({"#":"region_1","blocks":[{"#":"block_1","args":[],"ops":[)";
  for (const std::string& op : ops) text += op + ",";
  return text + op_text("2.yield", results, {}, {}) + "]}]}";
}

std::string control(const char* name, const std::vector<Id>& inputs, Id result,
                    const std::vector<std::string>& regions) {
  std::string text = op_text(name, inputs, {}, {{result, floats()}});
  text.pop_back();
  text += R"(,"regions":[)";
  for (std::size_t i = 0; i < regions.size(); ++i) text += (i > 0 ? "," : "") + regions[i];
  return text + "]}";
}

std::string program(std::vector<std::string> ops, Id result) {
  ops.insert(ops.begin(), op_text("1.data", {},
                                  {{"name", Tag::kText, std::string("x")},
                                   {"shape", Tag::kIntArray, Shape{-1, 4}},
                                   {"dtype", Tag::kDType, std::string("float32")},
                                   {"place", Tag::kPlace}},
                                  {{1, floats()}}));
  ops.push_back(op_text("1.fetch", {result},
                        {{"name", Tag::kText, std::string("out")}, {"col", Tag::kInt32, std::int64_t{0}}},
                        {{99, floats()}}));
  return program_text(ops, nullptr);
}

Graph load(const std::string& text) {
  TempDir dir;
  write_file(dir / "inference.json", text);
  return load_model({dir / "inference.json", dir / "inference.pdiparams"});
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Paddle3Branches, TheBlockOfAConstantConditionRuns) {
  for (const double condition : {1.0, 0.0}) {
    const std::string text =
        program({full(2, condition),
                 control("1.if", {2}, 3,
                         {region({unary("1.relu", 1, 4)}, {4}), region({unary("1.tanh", 1, 5)}, {5})})},
                3);
    const Graph graph = load(text);
    EXPECT_THAT(ops_of(graph), ElementsAre(condition != 0 ? "relu" : "tanh", "identity"));
    EXPECT_EQ(write_model(graph, [](Bytes) {}), text);  // what is not changed stays control flow
  }
}

TEST(Paddle3Branches, ConditionsMayBeComputedFromConstants) {
  const std::string text =
      program({full(2, 3, "int32"), full(3, 2, "int32"),
               op_text("1.less_than", {2, 3}, {}, {{4, type_text(DType::kBool, {})}}),
               op_text("1.logical_not", {4}, {}, {{5, type_text(DType::kBool, {})}}),
               control("1.if", {5}, 6, {region({unary("1.relu", 1, 7)}, {7}), region({}, {1})})},
              6);
  EXPECT_THAT(ops_of(load(text)), ::testing::Contains("relu"));
}

TEST(Paddle3Branches, ALoopThatIsNeverEnteredGivesItsArguments) {
  const std::string text = program({full(2, 0), control("1.while", {2, 1}, 3, {region({}, {2, 1})})}, 3);
  EXPECT_THAT(ops_of(load(text)), ElementsAre("identity"));
}

TEST(Paddle3Branches, WhatAFileCanNotSayStaysControlFlow) {
  const std::string inner = region({unary("1.relu", 1, 4)}, {4});
  for (const std::string& op :
       {control("1.while", {2, 1}, 3, {inner}),                // entered
        control("1.if", {1}, 3, {inner, inner}),               // no constant
        control("1.if", {2}, 3, {inner}),                      // one block
        control("1.if", {2}, 3, {region({}, {}), inner}),      // without a result
        control("1.if", {2}, 3, {region({}, {0}), inner})}) {  // with none that has a number
    const Graph graph = load(program({full(2, 1), op}, 3));
    EXPECT_EQ(graph.nodes.back().op.substr(0, 8), "paddle3:");
  }
}

// An rnn op with everything right but for one thing.
std::string recurrent(const char* mode, std::int64_t hidden, std::size_t weights) {
  std::vector<Id> lists(weights, 1);
  return program(
      {op_text("0.combine", {1, 1}, {}, {{2, list_text({floats(), floats()})}}),
       op_text("0.combine", lists, {}, {{3, list_text(std::vector<std::string>(weights, floats()))}}),
       op_text("1.rnn", {1, 2, 3, 0, 0},
               {{"mode", Tag::kText, std::string(mode)},
                {"hidden_size", Tag::kInt32, hidden},
                {"num_layers", Tag::kInt32, std::int64_t{1}},
                {"is_bidirec", Tag::kBool, std::int64_t{0}}},
               {{4, floats()}, {5, floats()}, {6, list_text({floats(), floats()})}, {7, floats()}})},
      4);
}

TEST(Paddle3Recurrent, SaysWhyItDoesNotRun) {
  const auto reason = [](const std::string& text) {
    const Graph graph = load(text);
    EXPECT_EQ(graph.nodes.back().op, "paddle3:rnn");
    return attr<std::string>(graph.nodes.back(), "reason");
  };
  EXPECT_EQ(reason(recurrent("GRU", 8, 4)), "its mode is GRU, octet runs LSTM");
  EXPECT_EQ(reason(recurrent("LSTM", 0, 4)), "it has 1 layers of 0 numbers");
  EXPECT_EQ(reason(recurrent("LSTM", 8, 3)), "it has 3 weights and biases, expected 4");
  EXPECT_THAT(reason(recurrent("LSTM", 8, 4)), ::testing::HasSubstr("expected 32 rows"));
}

}  // namespace
}  // namespace octet::paddle3
