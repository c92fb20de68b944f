#include <gtest/gtest.h>

#include "graph/builder.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;

class Verify : public ::testing::Test {
 protected:
  Verify() {
    x_ = graph_.add_value("x", DType::kFloat32, {2});
    w_ = graph_.add_constant("w", Tensor::of<float>({2}, {1, 2}));
    y_ = graph_.add_value("y");
    z_ = graph_.add_value("z");
    graph_.inputs = {x_};
    graph_.outputs = {z_};
    graph_.nodes = {{.op = "add", .inputs = {x_, w_}, .outputs = {y_}, .attrs = {}},
                    {.op = "relu", .inputs = {y_}, .outputs = {z_}, .attrs = {}}};
  }
  std::string error() {
    return error_of([&] { verify(graph_); });
  }

  Graph graph_;
  ValueId x_, w_, y_, z_;
};

TEST_F(Verify, AcceptsAGoodGraph) {
  EXPECT_EQ(error(), "");
  graph_.nodes[1].op = "paddle:anything";
  graph_.nodes[1].attrs["whatever"] = true;
  EXPECT_EQ(error(), "") << "ops of other tools are not octet's to judge";
}

TEST_F(Verify, FindsValuesThatDoNotExist) {
  graph_.nodes[0].inputs[1] = 4;
  EXPECT_EQ(error(), "add \"y\": there is no value number 4");
  graph_.nodes[0].inputs[1] = -2;
  EXPECT_EQ(error(), "add \"y\": there is no value number -2");
  graph_.nodes[0].outputs[0] = 99;
  EXPECT_EQ(error(), "node 0 (add): there is no value number 99");
  graph_.inputs = {77};
  EXPECT_EQ(error(), "the graph's inputs: there is no value number 77");
}

TEST_F(Verify, FindsBadOutputs) {
  graph_.outputs = {-5};
  EXPECT_EQ(error(), "the graph's outputs: there is no value number -5");
  graph_.outputs = {graph_.add_value("loose")};
  EXPECT_EQ(error(), "the graph's outputs: \"loose\" is used before anything defines it");
}

TEST_F(Verify, FindsWrongOrder) {
  std::swap(graph_.nodes[0], graph_.nodes[1]);
  EXPECT_EQ(error(), "relu \"z\": \"y\" is used before anything defines it");
}

TEST_F(Verify, FindsTwoDefinitions) {
  graph_.nodes[1].outputs = {y_};
  EXPECT_EQ(error(), "relu \"y\": \"y\" is defined twice");
  graph_.nodes[1].outputs = {w_};
  EXPECT_EQ(error(), "relu \"w\": \"w\" is defined twice");
  graph_.inputs = {x_, x_};
  EXPECT_EQ(error(), "the graph's inputs: \"x\" is defined twice");
}

TEST_F(Verify, FindsWrongSlots) {
  graph_.nodes[0].inputs = {x_};
  EXPECT_EQ(error(), "add \"y\": input y is missing");
  graph_.nodes[0].inputs = {x_, w_, w_, w_};
  EXPECT_EQ(error(), "add \"y\": 4 inputs, expected at most 3");
}

TEST_F(Verify, FindsWrongAttributes) {
  graph_.nodes[0].attrs["axis"] = 1.5;
  EXPECT_EQ(error(), "add \"y\": attribute axis is of type number, expected integer");
  graph_.nodes[0].attrs = {{"alpha", 1.5}};
  EXPECT_EQ(error(), "add \"y\": op add has no attribute alpha");
}

TEST_F(Verify, FindsAConstantThatIsNotItsTensor) {
  graph_.value(w_).dtype = DType::kInt32;
  EXPECT_EQ(error(), "constant \"w\" is int32 2, its tensor float32 2");
}

}  // namespace
}  // namespace octet
