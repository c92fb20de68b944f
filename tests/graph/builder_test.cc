#include "graph/builder.h"

#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Tensor zeros(Shape shape) {
  return Tensor::of<float>(shape, std::vector<float>(static_cast<std::size_t>(element_count(shape)), 0.0f));
}

TEST(Builder, BuildsANetwork) {
  Builder b;
  ValueId x = b.input("x", {1, 3, 32, 32});
  ValueId w = b.constant("w", zeros({8, 3, 3, 3}));
  std::vector<ValueId> bn;
  for (const char* name : {"scale", "bias", "mean", "variance"}) bn.push_back(b.constant(name, zeros({8})));
  ValueId y = b.conv2d(x, w, {.strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  y = b.relu(b.batch_norm(y, bn[0], bn[1], bn[2], bn[3], 1e-3));
  y = b.add(y, b.hard_swish(b.max_pool(y, {.kernel = {3, 3}, .paddings = {1, 1, 1, 1}})));
  y = b.concat({y, b.avg_pool(y, {.kernel = {3, 3}, .paddings = {1, 1, 1, 1}, .exclusive = false})}, 1);
  y = b.resize(y, {.mode = "bilinear", .out_h = 20, .out_w = 24, .align_mode = 0});
  y = b.flatten(b.global_avg_pool(y));
  y = b.softmax(b.add(b.matmul(y, b.constant("fc.w", zeros({16, 10}))), b.constant("fc.b", zeros({10}))));
  EXPECT_EQ(b.shape(y), (Shape{kUnknown, 10}));
  ValueId best = b.arg_max(y, 1, DType::kInt32);
  b.rename(y, "probabilities");

  Graph graph = b.build({y, best});
  EXPECT_EQ(graph.nodes.size(), 15u);
  EXPECT_EQ(graph.find_value("probabilities"), y);
  EXPECT_EQ(graph.value(best).shape, Shape{kUnknown});
  EXPECT_EQ(graph.value(best).dtype, DType::kInt32);
  EXPECT_EQ(attr<double>(graph.nodes[1], "epsilon"), 1e-3);
}

TEST(Builder, NamesAreUnique) {
  Builder b;
  ValueId x = b.input("relu_0", {4});
  ValueId y = b.relu(b.relu(x));
  EXPECT_EQ(b.build({y}).value(y).name, "relu_2");
  b.input("x", {4});
  EXPECT_EQ(error_of([&] { b.constant("x", Tensor::scalar(1.0f)); }), "the graph already has a value \"x\"");
}

TEST(Builder, ReportsAMistakeWhereItIsMade) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId w = b.constant("w", zeros({4, 5, 3, 3}));
  EXPECT_THAT(error_of([&] { b.conv2d(x, w); }), HasSubstr("conv2d \"conv2d_0\": "));
  EXPECT_THAT(error_of([&] { b.op("nonsense", {x}); }), HasSubstr("op nonsense is not known to octet"));
}

TEST(Builder, ABuiltGraphLeavesItEmpty) {
  Builder b;
  b.build({b.relu(b.input("x", {1}))});
  Graph second = b.build({b.relu(b.input("x", {1}))});
  EXPECT_EQ(second.nodes.size(), 1u);
  EXPECT_EQ(second.value(second.outputs[0]).name, "relu_0");
}

}  // namespace
}  // namespace octet
