#include "train/network.h"

#include <gtest/gtest.h>

#include "models/models.h"
#include "runtime/executor.h"
#include "train/batch_norm.h"
#include "train/convert.h"
#include "train/fake_comm.h"
#include "train/small_network.h"

namespace octet::train {

namespace {

using octet::testing::random_floats;
using octet::testing::run_ranks;
using octet::testing::small_network;

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

at::Tensor run_reference(const Graph& graph, const Tensor& x) {
  ThreadPool pool(1);
  return to_torch(execute(prepare(graph, {.ir_optim = false, .isa = "ref"}), {x}, pool).at(0));
}

// With the fast kernels.
at::Tensor run_octet(const Graph& graph, const Tensor& x) {
  ThreadPool pool(1);
  return to_torch(execute(prepare(graph, {.ir_optim = false}), {x}, pool).at(0));
}

at::Tensor pictures(std::int64_t n, std::int64_t size, std::uint32_t seed = 1) {
  return to_torch(random_floats({n, 3, size, size}, seed));
}

// A loss that is smooth, summed in double.
at::Tensor loss_of(const at::Tensor& scores) {
  const at::Tensor weights = at::sin(at::arange(scores.numel(), at::kDouble) * 2.3 + 1).view(scores.sizes());
  return (scores.to(at::kDouble) * weights).sum();
}

// Element i in row-major order, however the tensor lies in memory.
at::Tensor element(at::Tensor tensor, std::int64_t i) {
  while (tensor.dim() > 0) {
    const std::int64_t inner = tensor.numel() / tensor.size(0);
    tensor = tensor.select(0, i / inner);
    i %= inner;
  }
  return tensor;
}

Weight& find(std::vector<Weight>& weights, const std::string& name) {
  return *std::ranges::find(weights, name, &Weight::name);
}

TEST(TrainNetwork, EvaluatesAsTheReferenceDoes) {
  const Tensor x = random_floats({3, 3, 9, 11}, 4);
  Network network(small_network(), at::kCPU);
  EXPECT_LT(largest_difference(network.forward(view_in_torch(x)), run_reference(small_network(), x)), 1e-5);
}

TEST(TrainNetwork, TheZooEvaluatesAsInTheRuntime) {
  for (const char* name :
       {"mobilenet_v3_small", "mobilenet_v2", "resnet18", "resnet50", "efficientnet_lite0"}) {
    SCOPED_TRACE(name);
    Graph graph = models::build_model(name, {.num_classes = 7, .img_size = 32, .width = 0.25});
    for (Node& node : graph.nodes)
      if (node.op == "batch_norm")
        node.attrs["momentum"] = 0.0;  // the statistics are those of the last batch
    const Tensor x = random_floats({4, 3, 32, 32}, 4);
    Network network(graph, at::kCPU);
    const at::NoGradGuard no_gradients;
    network.training = true;
    network.forward(view_in_torch(x));
    network.training = false;
    const at::Tensor actual = network.forward(view_in_torch(x)), expected = run_octet(network.bake(), x);
    const double largest = expected.abs().max().item<double>();
    EXPECT_LT(largest_difference(actual, expected), 1e-4 * largest);
    EXPECT_GT(largest, 1e-3);
  }
}

TEST(TrainNetwork, KnowsWhatIsLearned) {
  Network network(small_network(), at::kCPU);
  std::vector<std::string> learned, kept;
  for (const Weight& weight : network.parameters()) learned.push_back(weight.name);
  for (const Weight& weight : network.statistics()) kept.push_back(weight.name);
  EXPECT_EQ(learned, (std::vector<std::string>{"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight",
                                               "bn2.weight", "bn2.bias", "fc.weight", "fc.bias"}));
  EXPECT_EQ(kept, (std::vector<std::string>{"bn1._mean", "bn1._variance", "bn2._mean", "bn2._variance"}));
}

TEST(TrainNetwork, AConstantThatAnotherOpNeedsIsNotLearned) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 4});
  const ValueId both = b.constant("both", random_floats({4}, 1)),
                one = b.constant("one", random_floats({4}, 2));
  const ValueId whole = b.constant("whole", Tensor::of<std::int64_t>({1}, {1}));
  const ValueId y = b.op("max", {b.add(b.mul(x, both), one), both});
  const Graph graph = b.build({b.op("concat", {whole, y, y})});
  EXPECT_FALSE(is_trainable(graph, both));
  EXPECT_TRUE(is_trainable(graph, one));
  EXPECT_FALSE(is_trainable(graph, whole));
  EXPECT_FALSE(is_trainable(graph, x));
}

TEST(TrainNetwork, AnOpThatIsNotThereIsNamed) {
  Builder b;
  Graph graph = b.build({b.op("relu", {b.input("x", {kUnknown, 4})})});
  graph.nodes[0].op = "mystery";
  try {
    Network network(graph, at::kCPU);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("mystery"), std::string::npos) << error.what();
  }
}

TEST(TrainNetwork, GivesInnerValues) {
  const Graph graph = small_network();
  Network network(graph, at::kCPU);
  const ValueId inner = graph.nodes[1].outputs[0];
  const auto values = network.forward({pictures(2, 8)}, {inner, graph.outputs[0]});
  EXPECT_EQ(values[0].sizes().vec(), (std::vector<std::int64_t>{2, 4, 4, 4}));
  EXPECT_EQ(values[1].sizes().vec(), (std::vector<std::int64_t>{2, 3}));
}

TEST(TrainNetwork, BatchNormInTrainingUsesAndKeepsTheStatisticsOfTheBatch) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 2, kUnknown, kUnknown});
  const auto vector = [&](const char* name, float v) {
    return b.constant(name, Tensor::of<float>({2}, {v, v}));
  };
  const Graph graph =
      b.build({b.op("batch_norm", {x, vector("s", 2), vector("b", 1), vector("m", 0.5f), vector("v", 3)},
                    {{"momentum", 0.8}, {"epsilon", 1e-3}})});
  Network network(graph, at::kCPU);
  network.training = true;
  const at::Tensor input = to_torch(random_floats({4, 2, 3, 5}, 9, -1, 3));
  const at::Tensor y = network.forward(input);
  const at::Tensor wide = input.to(at::kDouble);
  const at::Tensor mean = wide.mean({0, 2, 3}),
                   variance = wide.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
  const auto along = [](const at::Tensor& t) { return t.view({1, 2, 1, 1}); };
  EXPECT_LT(largest_difference(y, (wide - along(mean)) / at::sqrt(along(variance) + 1e-3) * 2 + 1), 1e-5);
  // Paddle's: the new share is 1 - momentum.
  EXPECT_LT(largest_difference(find(network.statistics(), "m").tensor, mean * 0.2 + 0.5 * 0.8), 1e-5);
  const double unbiased = 60.0 / 59;
  EXPECT_LT(largest_difference(find(network.statistics(), "v").tensor, variance * unbiased * 0.2 + 3 * 0.8),
            1e-5);
}

TEST(TrainNetwork, EvaluationChangesNothing) {
  Network network(small_network(), at::kCPU);
  const Graph before = network.bake();
  network.forward(pictures(2, 8));
  const Graph after = network.bake();
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    if (!before.values[i].is_constant()) continue;
    EXPECT_TRUE(at::equal(view_in_torch(before.values[i].constant), view_in_torch(after.values[i].constant)))
        << before.values[i].name;
  }
}

TEST(TrainNetwork, BakesWhatItHasLearned) {
  Network network(small_network(), at::kCPU);
  network.training = true;
  loss_of(network.forward(pictures(4, 8))).backward();
  {
    const at::NoGradGuard no_gradients;
    for (Weight& weight : network.parameters()) weight.tensor.sub_(weight.tensor.grad(), 0.1);
  }
  network.training = false;
  const Graph baked = network.bake();
  const Tensor x = random_floats({2, 3, 8, 8}, 7);
  EXPECT_LT(largest_difference(network.forward(view_in_torch(x)), run_reference(baked, x)), 1e-5);
  EXPECT_GT(largest_difference(run_reference(small_network(), x), run_reference(baked, x)), 1e-2);
}

// Every gradient of the small network, by differences of the loss.
TEST(TrainNetwork, GradientsInTrainingAreThoseOfTheLoss) {
  constexpr float kStep = 1e-2f;
  Network network(small_network(), at::kCPU);
  network.training = true;
  const at::Tensor x = pictures(4, 7).set_requires_grad(true);
  loss_of(network.forward(x)).backward();
  std::vector<Weight> all = network.parameters();
  all.push_back({"x", kNoValue, x});
  const at::NoGradGuard no_gradients;
  for (Weight& weight : all) {
    SCOPED_TRACE(weight.name);
    const at::Tensor gradient = weight.tensor.grad();
    const double scale = std::max(1.0, gradient.abs().max().item<double>());
    for (std::int64_t i = 0; i < std::min<std::int64_t>(weight.tensor.numel(), 40); ++i) {
      at::Tensor place = element(weight.tensor, i);
      const float old = place.item<float>();
      place.fill_(old + kStep);
      const double above = loss_of(network.forward(x)).item<double>();
      place.fill_(old - kStep);
      const double below = loss_of(network.forward(x)).item<double>();
      place.fill_(old);
      EXPECT_NEAR(element(gradient, i).item<double>(), (above - below) / (2 * kStep), 2e-3 * scale)
          << "element " << i;
    }
  }
}

// Batch norm over processes.

struct BatchNorm {
  at::Tensor y, x_gradient, scale_gradient, bias_gradient, mean, variance;
};

BatchNorm with_one_batch(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias,
                         const at::Tensor& gradient) {
  const at::Tensor leaf = x.to(at::kDouble).set_requires_grad(true);
  const at::Tensor s = scale.to(at::kDouble).set_requires_grad(true),
                   b = bias.to(at::kDouble).set_requires_grad(true);
  BatchNorm result;
  result.mean = at::zeros({x.size(1)}, at::kDouble);
  result.variance = at::ones({x.size(1)}, at::kDouble);
  result.y = at::batch_norm(leaf, s, b, result.mean, result.variance, true, 0.1, 1e-5, false);
  (result.y * gradient.to(at::kDouble)).sum().backward();
  result.x_gradient = leaf.grad();
  result.scale_gradient = s.grad();
  result.bias_gradient = b.grad();
  return result;
}

void expect_batches_add_up(const at::Tensor& x, const std::vector<std::int64_t>& shares) {
  const std::int64_t channels = x.size(1);
  const at::Tensor scale = to_torch(random_floats({channels}, 2, 0.5f, 1.5f)),
                   bias = to_torch(random_floats({channels}, 3));
  const at::Tensor gradient = to_torch(random_floats(x.sizes().vec(), 5));
  const BatchNorm whole = with_one_batch(x, scale, bias, gradient);
  std::vector<BatchNorm> parts(shares.size());
  run_ranks(static_cast<int>(shares.size()), [&](Comm& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < rank; ++r) begin += shares[r];
    const at::Tensor mine = x.slice(0, begin, begin + shares[rank]).clone().set_requires_grad(true);
    const at::Tensor s = scale.clone().set_requires_grad(true), b = bias.clone().set_requires_grad(true);
    BatchNorm& part = parts[rank];
    part.mean = at::zeros({channels});
    part.variance = at::ones({channels});
    part.y = batch_norm(mine, s, b, part.mean, part.variance, 0.1, 1e-5, &comm);
    (part.y * gradient.slice(0, begin, begin + shares[rank])).sum().backward();
    part.x_gradient = mine.grad();
    part.scale_gradient = s.grad();
    part.bias_gradient = b.grad();
  });
  std::vector<at::Tensor> ys, x_gradients;
  at::Tensor scale_gradient = at::zeros({channels}), bias_gradient = at::zeros({channels});
  for (const BatchNorm& part : parts) {
    ys.push_back(part.y);
    x_gradients.push_back(part.x_gradient);
    scale_gradient += part.scale_gradient;
    bias_gradient += part.bias_gradient;
    EXPECT_LT(largest_difference(part.mean, whole.mean), 1e-5);
    EXPECT_LT(largest_difference(part.variance, whole.variance), 1e-4);
  }
  EXPECT_LT(largest_difference(at::cat(ys), whole.y), 1e-5);
  EXPECT_LT(largest_difference(at::cat(x_gradients), whole.x_gradient), 1e-5);
  EXPECT_LT(largest_difference(scale_gradient, whole.scale_gradient), 1e-4);
  EXPECT_LT(largest_difference(bias_gradient, whole.bias_gradient), 1e-4);
}

TEST(TrainSyncBatchNorm, TwoHalvesAreOneBatch) {
  expect_batches_add_up(to_torch(random_floats({6, 4, 5, 3}, 1, -1, 3)), {3, 3});
}

TEST(TrainSyncBatchNorm, SharesMayDiffer) {
  expect_batches_add_up(to_torch(random_floats({7, 4, 5, 3}, 1, -1, 3)), {1, 4, 2});
}

TEST(TrainSyncBatchNorm, ChannelsLast) {
  expect_batches_add_up(to_torch(random_floats({6, 4, 5, 3}, 1)).contiguous(at::MemoryFormat::ChannelsLast),
                        {3, 3});
}

TEST(TrainSyncBatchNorm, WithoutPictures) {
  expect_batches_add_up(to_torch(random_floats({8, 5}, 1)), {4, 4});
}

// Where the mean is far larger than the deviation, sums of squares lose what differs.
TEST(TrainSyncBatchNorm, MeansFarFromZero) {
  expect_batches_add_up(to_torch(random_floats({6, 2, 5, 3}, 1, 30, 31)), {3, 3});
}

TEST(TrainSyncBatchNorm, ANetworkOfTwoProcessesIsThatOfOne) {
  const at::Tensor x = pictures(8, 8);
  Network whole(small_network(), at::kCPU);
  whole.training = true;
  const at::Tensor y = whole.forward(x);
  std::vector<at::Tensor> parts(2);
  std::vector<Graph> baked(2);
  run_ranks(2, [&](Comm& comm) {
    Network network(small_network(), at::kCPU);
    network.training = true;
    network.sync = &comm;
    const auto rank = static_cast<std::size_t>(comm.rank());
    parts[rank] = network.forward(x.slice(0, 4 * comm.rank(), 4 * comm.rank() + 4));
    baked[rank] = network.bake();
  });
  EXPECT_LT(largest_difference(at::cat(parts), y), 1e-5);
  const ValueId mean = baked[0].find_value("bn2._mean");
  EXPECT_LT(largest_difference(to_torch(baked[0].value(mean).constant),
                               find(whole.statistics(), "bn2._mean").tensor),
            1e-6);
}

}  // namespace

}  // namespace octet::train
