#include <gtest/gtest.h>

#include <cmath>

#include "passes/passes.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

// What exporters spell out becomes one op, what only looks like it stays, and the numbers stay the same.
namespace octet {
namespace {

using namespace octet::testing;

class Recognise : public ::testing::Test {
 protected:
  ValueId number(double value) {
    return b_.constant("c" + std::to_string(count_++), Tensor::scalar(static_cast<float>(value)));
  }

  // The ops that are left of the graph that makes `y`, whose numbers must stay what they were.
  std::vector<std::string> ops(ValueId y) {
    const Graph graph = b_.build({y});
    Graph changed = graph;
    recognise_functions(changed);
    recognise_norms(changed);
    verify(changed);
    const Tensor x = ramp({2, 3, 4, 5}, 11);
    const std::vector<float> before = values<float>(run_graph(graph, {x})[0]),
                             after = values<float>(run_graph(changed, {x})[0]);
    EXPECT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 2e-6) << i;
    std::vector<std::string> names;
    for (const Node& node : changed.nodes) names.push_back(node.op);
    last_ = changed.nodes.back();
    b_ = Builder();
    x_ = b_.input("x", {kUnknown, 3, 4, 5});
    return names;
  }

  using Names = std::vector<std::string>;
  Builder b_;
  ValueId x_ = b_.input("x", {kUnknown, 3, 4, 5});
  Node last_;
  int count_ = 0;
};

TEST_F(Recognise, HardSigmoid) {
  EXPECT_EQ(ops(b_.div(b_.relu6(b_.add(x_, number(3))), number(6))), Names{"hard_sigmoid"});
  EXPECT_NEAR(std::get<double>(last_.attrs["slope"]), 1.0 / 6, 1e-9);
  EXPECT_EQ(std::get<double>(last_.attrs["offset"]), 0.5);
  EXPECT_EQ(ops(b_.op("clip", {b_.scale(x_, 0.2, 0.5)}, {{"min", 0.0}, {"max", 1.0}})),
            Names{"hard_sigmoid"});
  EXPECT_EQ(ops(b_.relu6(x_)), Names{"relu6"});
  EXPECT_EQ(ops(b_.div(b_.relu6(b_.add(x_, number(3))), number(5))), (Names{"add", "relu6", "div"}));
}

TEST_F(Recognise, HardSwish) {
  EXPECT_EQ(ops(b_.div(b_.mul(x_, b_.relu6(b_.add(x_, number(3)))), number(6))), Names{"hard_swish"});
  EXPECT_EQ(ops(b_.mul(b_.mul(b_.relu6(b_.add(number(3), x_)), number(1.0 / 6)), x_)), Names{"hard_swish"});
  EXPECT_EQ(ops(b_.mul(x_, b_.hard_sigmoid(x_, 1.0 / 6, 0.5))), Names{"hard_swish"});
  EXPECT_EQ(std::get<double>(last_.attrs["scale"]), 6);
  EXPECT_EQ(std::get<double>(last_.attrs["offset"]), 3);
  // Of another tensor.
  ValueId other = b_.relu(x_);
  EXPECT_EQ(ops(b_.mul(other, b_.hard_sigmoid(x_, 1.0 / 6, 0.5))), (Names{"relu", "hard_sigmoid", "mul"}));
}

TEST_F(Recognise, SwishAndSigmoid) {
  EXPECT_EQ(ops(b_.mul(x_, b_.sigmoid(x_))), Names{"swish"});
  EXPECT_EQ(ops(b_.mul(b_.sigmoid(b_.mul(x_, number(1.702))), x_)), Names{"swish"});
  EXPECT_NEAR(std::get<double>(last_.attrs["beta"]), 1.702, 1e-6);
  EXPECT_EQ(ops(b_.div(x_, b_.add(b_.op("exp", {b_.scale(x_, -1)}), number(1)))), Names{"swish"});
  EXPECT_EQ(ops(b_.div(number(1), b_.add(b_.op("exp", {b_.scale(x_, -1)}), number(1)))), Names{"sigmoid"});
  EXPECT_EQ(ops(b_.mul(x_, b_.op("tanh", {b_.op("softplus", {x_})}))), Names{"mish"});
  // A gate that is no function of x alone, behind a swish.
  ValueId swish = b_.mul(x_, b_.sigmoid(x_));
  EXPECT_EQ(ops(b_.mul(swish, b_.relu(x_))), (Names{"swish", "relu", "mul"}));
}

TEST_F(Recognise, Gelu) {
  auto erf = [&] { return b_.add(b_.op("erf", {b_.div(x_, number(std::sqrt(2)))}), number(1)); };
  EXPECT_EQ(ops(b_.mul(b_.mul(x_, erf()), number(0.5))), Names{"gelu"});
  EXPECT_EQ(ops(b_.mul(b_.mul(x_, number(0.5)), erf())), Names{"gelu"});
  EXPECT_EQ(ops(b_.mul(x_, b_.mul(erf(), number(0.5)))), Names{"gelu"});
  auto inner = [&] {
    ValueId cube = b_.op("pow", {x_, number(3)});
    return b_.mul(number(std::sqrt(2 / 3.14159265)), b_.add(x_, b_.mul(number(0.044715), cube)));
  };
  EXPECT_EQ(ops(b_.mul(b_.mul(number(0.5), x_), b_.add(number(1), b_.tanh(inner())))), Names{"gelu"});
  EXPECT_TRUE(std::get<bool>(last_.attrs["approximate"]));
  EXPECT_EQ(ops(b_.mul(x_, erf())).size(), 4u);  // twice a gelu
}

TEST_F(Recognise, LayerNorm) {
  auto rows = [&](std::vector<std::int64_t> axes) {
    ValueId centred = b_.sub(x_, b_.reduce_mean(x_, axes, true));
    ValueId variance = b_.reduce_mean(b_.op("pow", {centred, number(2)}), axes, true);
    return b_.div(centred, b_.op("sqrt", {b_.add(variance, number(1e-5))}));
  };
  EXPECT_EQ(ops(rows({-1})), Names{"layer_norm"});
  EXPECT_EQ(std::get<std::int64_t>(last_.attrs["begin_norm_axis"]), 3);
  EXPECT_EQ(ops(b_.add(b_.mul(rows({3}), b_.constant("s", ramp({5}, 2))), b_.constant("t", ramp({5}, 3)))),
            Names{"layer_norm"});
  EXPECT_EQ(last_.inputs.size(), 3u);
  EXPECT_EQ(ops(b_.mul(b_.constant("s", ramp({1, 4, 5}, 2)), rows({2, 3}))), Names{"layer_norm"});
  // A scale for each channel is none of the rows', and rows of the middle are none.
  EXPECT_EQ(ops(b_.mul(rows({2, 3}), b_.constant("s", ramp({3, 1, 1}, 2)))), (Names{"layer_norm", "mul"}));
  EXPECT_GT(ops(rows({1})).size(), 5u);
}

TEST_F(Recognise, SoftmaxAndTheMeanOfAnImage) {
  auto sum = [&](ValueId x, std::int64_t axis) {
    return b_.op("reduce_sum", {x}, {{"axes", std::vector<std::int64_t>{axis}}, {"keepdims", true}});
  };
  ValueId most = b_.op("reduce_max", {x_}, {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", true}});
  ValueId exp = b_.op("exp", {b_.sub(x_, most)});
  EXPECT_EQ(ops(b_.div(exp, sum(exp, 3))), Names{"softmax"});
  exp = b_.op("exp", {x_});
  EXPECT_EQ(ops(b_.div(exp, sum(exp, 1))), Names{"softmax"});
  EXPECT_EQ(std::get<std::int64_t>(last_.attrs["axis"]), 1);
  exp = b_.op("exp", {x_});
  EXPECT_EQ(ops(b_.div(x_, sum(exp, 1))), (Names{"exp", "reduce_sum", "div"}));
  EXPECT_EQ(ops(b_.reduce_mean(x_, {2, 3}, true)), Names{"pool2d"});
  EXPECT_EQ(ops(b_.reduce_mean(x_, {2, 3}, false)), Names{"reduce_mean"});
}

}  // namespace
}  // namespace octet
