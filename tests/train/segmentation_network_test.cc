#include <gtest/gtest.h>

#include "models/inference.h"
#include "models/models.h"
#include "models/names.h"
#include "runtime/executor.h"
#include "train/convert.h"
#include "train/network.h"

namespace octet::train {
namespace {

std::vector<at::Tensor> run_octet(const Graph& graph, const at::Tensor& x, bool ir_optim) {
  ThreadPool pool(1);
  std::vector<at::Tensor> results;
  for (const Tensor& result : execute(prepare(graph, {.ir_optim = ir_optim}), {from_torch(x)}, pool))
    results.push_back(to_torch(result));
  return results;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual - expected).norm().item<double>() / expected.norm().item<double>();
}

// Narrow networks, whose statistics are those of the last batch.
class SegmentationNetwork : public testing::TestWithParam<const char*> {
 protected:
  SegmentationNetwork() : network_(graph(GetParam()), at::kCPU) {
    at::manual_seed(3);
    // Pictures that differ as a whole: some batch norms see nothing but the means of pictures, and would make
    // much of their rounding.
    x_ = at::randn({4, 3, 50, 64}) * at::rand({4, 1, 1, 1}) + 2 * at::randn({4, 3, 1, 1});
  }

  static Graph graph(const char* name) {
    Graph graph = models::build_model(name, {.num_classes = 5, .width = 0.125});
    for (Node& node : graph.nodes) {
      if (node.op == "batch_norm") node.attrs["momentum"] = 0.0;
      if (node.op == "dropout") node.attrs["p"] = 0.0;
    }
    return graph;
  }

  std::vector<at::Tensor> forward(bool training) {
    network_.training = training;
    return network_.forward({x_}, network_.graph().outputs);
  }

  Network network_;
  at::Tensor x_;
};

INSTANTIATE_TEST_SUITE_P(All, SegmentationNetwork,
                         testing::Values("bisenetv2", "deeplabv3_resnet50_os8", "deeplabv3p_resnet50_os16",
                                         "gcnet_resnet50_os8", "pspnet_resnet50_os16", "unet",
                                         "pp_liteseg_stdc1"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SegmentationNetwork, EvaluatesAsInTheRuntime) {
  const at::NoGradGuard no_gradients;
  forward(true);
  const std::vector<at::Tensor> actual = forward(false), expected = run_octet(network_.bake(), x_, false);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].sizes(), (at::IntArrayRef{4, 5, 50, 64}));
    EXPECT_GT(expected[i].abs().max().item<double>(), 1e-3);
    EXPECT_LT(relative_error(actual[i], expected[i]), 1e-4);
  }
}

TEST_P(SegmentationNetwork, LearnsAllItsParameters) {
  at::Tensor sum = at::zeros({});
  for (const at::Tensor& scores : forward(true)) sum = sum + (scores * at::randn(scores.sizes())).sum();
  sum.backward();
  for (const Weight& weight : network_.parameters()) {
    EXPECT_FALSE(weight.name.ends_with("._scale")) << weight.name;
    ASSERT_TRUE(weight.tensor.grad().defined()) << weight.name;
    EXPECT_TRUE(at::isfinite(weight.tensor.grad()).all().item<bool>()) << weight.name;
    // A batch norm takes the bias in front of it out again, and what lies before the softmax over all pixels
    // is not changed by one.
    const bool is_taken_out = weight.name.ends_with("_conv.bias") || weight.name.ends_with("conv_mask.bias");
    if (!is_taken_out) {
      EXPECT_GT(weight.tensor.grad().abs().max().item<double>(), 0) << weight.name;
    }
  }
}

TEST_P(SegmentationNetwork, IsDeployedAsItIsTrainedInEightBits) {
  const at::NoGradGuard no_gradients;
  forward(true);
  network_.quantize({}, x_);
  for (int i = 0; i < 3; ++i) forward(true);
  const at::Tensor simulated = forward(false)[0];

  Graph deployed = network_.deployed();
  models::to_inference(deployed, {.output = models::OutputOp::kNone});
  ASSERT_EQ(deployed.outputs.size(), 1u);
  EXPECT_LT(relative_error(run_octet(deployed, x_, true)[0], simulated), 0.05);
  std::int64_t integers = 0, floats = 0;
  for (const Node& node : prepare(deployed, {})->graph.nodes) {
    integers += node.op == "qconv2d";
    floats += node.op == "conv2d";
  }
  EXPECT_GT(integers, 10);
  EXPECT_EQ(floats, 0);
}

}  // namespace
}  // namespace octet::train
