#include "passes/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet {
namespace {

using namespace octet::testing;
using ::testing::HasSubstr;

TEST(Extract, FromInnerTensorToInnerTensor) {
  Graph graph = small_network();
  Tensor x = ramp({1, 3, 8, 8});
  Tensor relu = run_graph(extract(graph, {"x"}, {"relu_0"}), {x})[0];
  Graph tail = extract(graph, {"relu_0"}, {graph.value(graph.outputs[0]).name});
  EXPECT_EQ(tail.nodes.size(), graph.nodes.size() - 3);
  EXPECT_EQ(values<float>(run_graph(tail, {relu})[0]), values<float>(run_graph(graph, {x})[0]));
}

TEST(Extract, AParameterCanBeGiven) {
  Graph graph = extract(small_network(), {"x", "fc.b"}, {"add_0"});
  Tensor x = ramp({1, 3, 8, 8});
  Tensor shifted = ramp({5}, 6).clone();
  for (float& value : shifted.mutable_data<float>()) value += 1;
  std::vector<float> expected = values<float>(run_graph(small_network(), {x})[0]);
  std::vector<float> found = values<float>(run_graph(graph, {x, shifted})[0]);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i] + 1, 1e-5f);
}

TEST(Extract, SaysWhatIsMissing) {
  Graph graph = small_network();
  EXPECT_THAT(error_of([&] { extract(graph, {"x"}, {"nothing"}); }),
              HasSubstr("nothing: the model has no tensor of this name"));
  EXPECT_THAT(error_of([&] { extract(graph, {"fc.b"}, {"add_0"}); }), HasSubstr("x: this input is needed"));
}

}  // namespace
}  // namespace octet
