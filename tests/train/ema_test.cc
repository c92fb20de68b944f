#include "train/ema.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "support/graph_runner.h"
#include "train/optimizer.h"
#include "train/small_network.h"

namespace octet::train {
namespace {

using octet::testing::error_of;
using octet::testing::small_network;
using ::testing::HasSubstr;

TEST(Ema, FollowsTheWeightsFasterInTheBeginning) {
  Network network(small_network(), at::kCPU);
  Ema ema(network, 0.5);
  at::Tensor weight = network.parameters()[0].tensor;
  const double start = weight.flatten()[0].item<double>();
  const at::NoGradGuard no_gradients;
  weight.add_(1);
  ema.update(1);  // keeps a tenth
  EXPECT_NEAR(ema.others()[0].tensor.flatten()[0].item<double>(), start + 0.9, 1e-6);
  ema.update(100);  // keeps a half
  EXPECT_NEAR(ema.others()[0].tensor.flatten()[0].item<double>(), start + 0.95, 1e-6);
}

TEST(Ema, TheNetworkHasTheAveragesWhileTheyAreUsed) {
  Network network(small_network(), at::kCPU);
  Ema ema(network, 0.5);
  at::Tensor weight = network.parameters()[0].tensor, mean = network.statistics()[0].tensor;
  const at::Tensor before = weight.detach().clone(), mean_before = mean.clone();
  const at::NoGradGuard no_gradients;
  weight.add_(1);
  mean.add_(1);
  {
    const Ema::Use averages(&ema);
    EXPECT_TRUE(weight.equal(before));
    EXPECT_TRUE(mean.equal(mean_before));
    EXPECT_TRUE(ema.others()[0].tensor.equal(before + 1));
  }
  EXPECT_TRUE(weight.equal(before + 1));
  EXPECT_TRUE(mean.equal(mean_before + 1));
  const Ema::Use nothing(nullptr);
}

TEST(Freeze, KeepsParametersAndTheirBatchNorms) {
  Network network(small_network(), at::kCPU);
  network.freeze({"conv1.*", "bn1.?*"});
  network.training = true;
  std::vector<at::Tensor> before;
  for (const Weight& statistic : network.statistics()) before.push_back(statistic.tensor.clone());
  network.forward(at::ones({2, 3, 8, 8})).sum().backward();
  for (const Weight& weight : network.parameters()) {
    const bool frozen = weight.name.starts_with("conv1") || weight.name.starts_with("bn1");
    EXPECT_EQ(weight.is_frozen, frozen) << weight.name;
    EXPECT_EQ(weight.tensor.grad().defined(), !frozen) << weight.name;
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(network.statistics()[i].tensor.equal(before[i]),
              network.statistics()[i].name.starts_with("bn1"))
        << network.statistics()[i].name;
}

TEST(Freeze, TheOptimiserLeavesThemAlone) {
  for (const char* name : {"sgd", "rmsprop", "adamw"}) {
    Network network(small_network(), at::kCPU);
    network.freeze({"conv2.weight", "fc.bias"});
    TrainOptions options;
    options.opt = name;
    options.weight_decay = 0.1;
    Optimizer optimizer(network.parameters(), options);
    std::vector<at::Tensor> before;
    for (const Weight& weight : network.parameters()) before.push_back(weight.tensor.detach().clone());
    network.training = true;
    network.forward(at::ones({2, 3, 8, 8})).square().sum().backward();
    optimizer.step(0.1);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(network.parameters()[i].tensor.equal(before[i]), network.parameters()[i].is_frozen)
          << name << ", " << network.parameters()[i].name;
  }
}

TEST(Freeze, AGlobThatFitsNothingIsAnError) {
  Network network(small_network(), at::kCPU);
  EXPECT_THAT(error_of([&] { network.freeze({"conv1.wieght"}); }), HasSubstr("did you mean conv1.weight?"));
  EXPECT_THAT(error_of([&] { network.freeze({"nothing_like_it*"}); }), HasSubstr("there are conv1.weight"));
  EXPECT_THAT(error_of([&] { network.freeze({"*"}); }), HasSubstr("nothing is left to train"));
}

}  // namespace
}  // namespace octet::train
