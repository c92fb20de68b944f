#include "passes/scores.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace octet {
namespace {

struct Network {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId scores = b.conv2d(x, b.constant("w", Tensor::of<float>({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6})));
};

TEST(AnswerOps, AreTakenOffAndPutBack) {
  Network n;
  Graph graph =
      n.b.build({n.b.cast(n.b.arg_max(n.b.softmax(n.b.scale(n.scores, 1.0), 1), 1), DType::kInt32)});
  const std::vector<ValueId> outputs = graph.outputs;
  const std::size_t nodes = graph.nodes.size();
  AnswerOps ops = take_answer_ops(graph);
  EXPECT_EQ(ops.nodes.size(), 3u);  // not the one that scales
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.value(graph.outputs.at(0)).dtype, DType::kFloat32);
  put_back(graph, ops);
  EXPECT_EQ(graph.outputs, outputs);
  EXPECT_EQ(graph.nodes.size(), nodes);
  verify(graph);
}

// A node that nobody needs goes with them, and finds its constants again.
TEST(AnswerOps, KeepTheirConstants) {
  Network n;
  const ValueId unused = n.b.constant("unused", Tensor::of<float>({1}, {2}));
  n.b.op("mul", {n.x, unused});
  Graph graph = n.b.build({n.b.arg_max(n.scores, 1)});
  AnswerOps ops = take_answer_ops(graph);
  put_back(graph, ops);
  verify(graph);
  EXPECT_EQ(graph.value(unused).constant.data<float>()[0], 2);
}

TEST(AnswerOps, OthersStay) {
  Network n;
  Graph scores = n.b.build({n.scores});
  EXPECT_TRUE(take_answer_ops(scores).empty());
  EXPECT_EQ(scores.nodes.size(), 1u);

  // A classifier's probabilities are what it is judged by.
  Network c;
  Graph classifier = c.b.build({c.b.softmax(c.b.flatten(c.b.global_avg_pool(c.scores)))});
  EXPECT_TRUE(take_answer_ops(classifier).empty());

  // An answer beside the scores that it is made of: one of the two is enough.
  Network both;
  Graph graph = both.b.build({both.scores, both.b.arg_max(both.scores, 1)});
  const AnswerOps ops = take_answer_ops(graph);
  EXPECT_EQ(ops.nodes.size(), 1u);
  EXPECT_EQ(graph.outputs.size(), 1u);
}

}  // namespace
}  // namespace octet
