#include "models/new_head.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet::models {
namespace {

using octet::testing::error_of;
using octet::testing::random_floats;
using ::testing::HasSubstr;

std::int64_t scores_of(const Graph& graph) {
  return graph.value(graph.outputs.at(0)).shape.back();
}

TEST(NewHead, OfALinearLayer) {
  for (bool transposed : {false, true}) {
    Builder b;
    const ValueId x = b.input("x", {kUnknown, 8});
    const ValueId w = b.constant("fc.weight", random_floats(transposed ? Shape{3, 8} : Shape{8, 3}, 1));
    const ValueId y = b.op("matmul", {x, w}, {{"transpose_y", transposed}});
    Graph graph = b.build({b.op("add", {y, b.constant("fc.bias", random_floats({3}, 2))})});
    fit_head(graph, 3, 0, "model");
    EXPECT_EQ(graph.value(w).constant.data<float>()[0], random_floats({24}, 1).data<float>()[0]);
    fit_head(graph, 5, 0, "model");
    EXPECT_EQ(scores_of(graph), 5);
    EXPECT_EQ(graph.value(w).shape, transposed ? (Shape{5, 8}) : (Shape{8, 5}));
    EXPECT_EQ(graph.value(w).constant.shape(), graph.value(w).shape);

    StateDict state;
    state.set("fc.weight", {random_floats(transposed ? Shape{4, 8} : Shape{8, 4}, 1)});
    EXPECT_EQ(num_classes_of(graph, state), 4);
    EXPECT_EQ(num_classes_of(graph, {}), 5);
  }
}

TEST(NewHead, OfAConvolutionBehindWhichIsAPool) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 8, 4, 4});
  const ValueId y = b.conv2d(x, b.constant("conv.weight", random_floats({3, 8, 1, 1}, 1)), {});
  Graph graph = b.build({b.op("flatten", {b.global_avg_pool(y)}, {})});
  fit_head(graph, 6, 0, "model");
  EXPECT_EQ(scores_of(graph), 6);
}

TEST(NewHead, SaysWhatIsInTheWay) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3});
  Graph graph = b.build({b.op("sigmoid", {x})});
  EXPECT_THAT(error_of([&] { fit_head(graph, 6, 0, "model"); }),
              HasSubstr("model: it can't be fitted for 6 classes, which are 3 now: it ends in sigmoid"));
}

}  // namespace
}  // namespace octet::models
