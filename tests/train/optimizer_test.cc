#include "train/optimizer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"
#include "train/convert.h"
#include "train/schedule.h"

namespace octet::train {

namespace {

using octet::testing::random_floats;

// A picture of weights, whose memory is channels last, and a vector whose size is no multiple of a cache
// line.
std::vector<Weight> two_weights() {
  const auto leaf = [](const at::Tensor& t) {
    return t.clone(at::MemoryFormat::Preserve).set_requires_grad(true);
  };
  return {{"w", 0, leaf(to_torch(random_floats({2, 3, 2, 2}, 1)).contiguous(at::MemoryFormat::ChannelsLast))},
          {"b", 1, leaf(to_torch(random_floats({5}, 2)))}};
}

// The numbers of the same steps, one element after the other, in double. `rule` is one element's: its value,
// its gradient, two numbers that it remembers, and the step counted from 1.
using Rule = std::function<void(double& value, double gradient, double& first, double& second, int step)>;

void expect_follows(const TrainOptions& options, double rate, const Rule& rule) {
  std::vector<Weight> weights = two_weights();
  std::vector<std::vector<double>> values, first, second;
  for (const Weight& weight : weights) {
    const Tensor start = from_torch(weight.tensor);
    values.emplace_back(start.data<float>().begin(), start.data<float>().end());
    first.emplace_back(values.back().size());
    second.emplace_back(values.back().size());
  }
  Optimizer optimizer(weights, options);
  for (int step = 1; step <= 5; ++step) {
    optimizer.clear_gradients();
    for (std::size_t w = 0; w < weights.size(); ++w) {
      const Tensor coefficients =
          random_floats(weights[w].tensor.sizes().vec(),
                        static_cast<std::uint32_t>(10 * step) + static_cast<std::uint32_t>(w));
      (weights[w].tensor * view_in_torch(coefficients)).sum().backward();
      for (std::size_t i = 0; i < values[w].size(); ++i)
        rule(values[w][i], coefficients.data<float>()[i], first[w][i], second[w][i], step);
    }
    optimizer.step(rate);
    for (std::size_t w = 0; w < weights.size(); ++w) {
      const Tensor now = from_torch(weights[w].tensor);
      for (std::size_t i = 0; i < values[w].size(); ++i)
        ASSERT_NEAR(now.data<float>()[i], values[w][i], 1e-5)
            << weights[w].name << " " << i << " in step " << step;
    }
  }
  EXPECT_EQ(optimizer.steps_done, 5);
}

TEST(TrainOptimizer, Sgd) {
  for (const double decay : {0.0, 0.05})
    expect_follows({.opt = "sgd", .momentum = 0.8, .weight_decay = decay}, 0.2,
                   [&](double& value, double gradient, double& velocity, double&, int) {
                     velocity = 0.8 * velocity + gradient + decay * value;
                     value -= 0.2 * velocity;
                   });
}

TEST(TrainOptimizer, Rmsprop) {
  for (const double decay : {0.0, 0.05})
    expect_follows({.opt = "rmsprop", .momentum = 0.7, .weight_decay = decay}, 0.01,
                   [&](double& value, double gradient, double& square, double& momentum, int) {
                     const double g = gradient + decay * value;
                     square = 0.9 * square + 0.1 * g * g;
                     momentum = 0.7 * momentum + g / (std::sqrt(square) + 0.0316);
                     value -= 0.01 * momentum;
                   });
}

TEST(TrainOptimizer, AdamW) {
  for (const double decay : {0.0, 0.05})
    expect_follows({.opt = "adamw", .weight_decay = decay}, 0.01,
                   [&](double& value, double gradient, double& first, double& second, int step) {
                     value *= 1 - 0.01 * decay;
                     first = 0.9 * first + 0.1 * gradient;
                     second = 0.999 * second + 0.001 * gradient * gradient;
                     const double a = first / (1 - std::pow(0.9, step)),
                                  b = second / (1 - std::pow(0.999, step));
                     value -= 0.01 * a / (std::sqrt(b) + 1e-8);
                   });
}

// PaddleSeg's custom_cfg: parameters by a part of their name, the first that fits.
TEST(TrainOptimizer, GroupsHaveTheirOwnRateAndDecay) {
  std::vector<Weight> weights = two_weights();
  weights[0].name = "backbone.conv.weight";
  weights[1].name = "head.conv.bias";
  const std::vector<at::Tensor> before = {weights[0].tensor.detach().clone(),
                                          weights[1].tensor.detach().clone()};
  const auto stepped = [&](const std::vector<ParameterGroup>& groups) {
    std::vector<Weight> copies;
    for (std::size_t i = 0; i < 2; ++i) {
      copies.push_back(weights[i]);
      copies[i].tensor = before[i].clone(at::MemoryFormat::Preserve).set_requires_grad(true);
    }
    const TrainOptions options{.momentum = 0, .weight_decay = 0.5, .groups = groups};
    Optimizer optimizer(copies, options);
    (copies[0].tensor.sum() + copies[1].tensor.sum()).backward();
    optimizer.step(0.1);
    return copies;
  };
  const auto expect = [&](const at::Tensor& found, const at::Tensor& start, double rate, double decay) {
    EXPECT_TRUE(at::allclose(found, start - rate * (1 + decay * start))) << rate << " " << decay;
  };
  const auto same = stepped({});
  expect(same[0].tensor, before[0], 0.1, 0.5);
  expect(same[1].tensor, before[1], 0.1, 0.5);
  const auto two = stepped(
      {{.name = "backbone", .lr_mult = 0.2, .weight_decay_mult = 3.0}, {.name = "conv", .lr_mult = 10}});
  expect(two[0].tensor, before[0], 0.02, 1.5);
  expect(two[1].tensor, before[1], 1, 0.5);
  EXPECT_THAT(octet::testing::error_of([&] { stepped({{.name = "neck"}}); }),
              ::testing::HasSubstr("no parameter has 'neck' in its name"));
}

TEST(TrainOptimizer, AnUnknownOneIsRefused) {
  std::vector<Weight> weights = two_weights();
  const TrainOptions options{.opt = "lion"};
  EXPECT_THROW(Optimizer(weights, options), Error);
}

TEST(TrainOptimizer, GradientsLieInOnePiece) {
  std::vector<Weight> weights = two_weights();
  const TrainOptions options;
  Optimizer optimizer(weights, options);
  (weights[0].tensor.sum() * 2 + weights[1].tensor.sum() * 3).backward();
  EXPECT_TRUE(at::equal(optimizer.part_of(optimizer.gradients(), 0), at::full({2, 3, 2, 2}, 2.0)));
  EXPECT_TRUE(at::equal(optimizer.part_of(optimizer.gradients(), 1), at::full({5}, 3.0)));
  EXPECT_EQ(optimizer.gradients().sum().item<double>(), 24 * 2 + 5 * 3);
  optimizer.clear_gradients();
  EXPECT_EQ(weights[0].tensor.grad().sum().item<double>(), 0);
}

TEST(TrainSchedule, Step) {
  const TrainOptions options{.epochs = 90, .lr = 0.1, .lr_step_size = 30, .lr_gamma = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(options, 0, 10), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 299, 10), 0.1);
  EXPECT_NEAR(learning_rate(options, 300, 10), 0.01, 1e-12);
  EXPECT_NEAR(learning_rate(options, 899, 10), 0.001, 1e-12);
}

TEST(TrainSchedule, Cosine) {
  const TrainOptions options{.epochs = 10, .lr = 0.4, .lr_schedule = "cosine"};
  EXPECT_DOUBLE_EQ(learning_rate(options, 0, 10), 0.4);
  EXPECT_NEAR(learning_rate(options, 50, 10), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(options, 25, 10), 0.2 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_GT(learning_rate(options, 99, 10), 0);
  EXPECT_LT(learning_rate(options, 99, 10), 1e-3);
}

TEST(TrainSchedule, Poly) {
  const TrainOptions options{.epochs = 10, .lr = 0.4, .lr_schedule = "poly"};
  EXPECT_DOUBLE_EQ(learning_rate(options, 0, 10), 0.4);
  EXPECT_NEAR(learning_rate(options, 50, 10), 0.4 * std::pow(0.5, 0.9), 1e-12);
  EXPECT_GT(learning_rate(options, 99, 10), 0);
}

TEST(TrainSchedule, WarmUpReachesTheRateAndTheRestFollows) {
  TrainOptions options{.epochs = 10, .lr = 0.4, .lr_schedule = "cosine", .warmup_epochs = 2};
  EXPECT_NEAR(learning_rate(options, 0, 10), 0.02, 1e-12);
  EXPECT_NEAR(learning_rate(options, 9, 10), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(options, 19, 10), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(options, 20, 10), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(options, 60, 10), 0.2, 1e-12);
  options.lr_schedule = "step";
  options.lr_step_size = 3;
  EXPECT_NEAR(learning_rate(options, 29, 10), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(options, 30, 10), 0.04, 1e-12);
  options.warmup_epochs = 0.25;
  EXPECT_NEAR(learning_rate(options, 1, 10), 0.4 * 2 / 2.5, 1e-12);
  EXPECT_NEAR(learning_rate(options, 3, 10), 0.4, 1e-12);
}

// A resumed run may go past the epochs that it was planned for.
// A step of several batches has the learning rate of one with a batch so many times as large.
TEST(TrainSchedule, CountsStepsOfTheOptimiser) {
  for (const char* schedule : {"step", "cosine", "poly"}) {
    TrainOptions large;
    large.epochs = 4;
    large.lr_schedule = schedule;
    large.lr_step_size = 2;
    large.warmup_epochs = 0.75;
    TrainOptions small = large;
    small.accumulate = 3;
    for (std::int64_t step = 0; step < 16; ++step)
      for (std::int64_t part = 0; part < 3; ++part)
        EXPECT_DOUBLE_EQ(learning_rate(small, 3 * step + part, 12), learning_rate(large, step, 4)) << step;
    // Of ten batches the last step of an epoch has one.
    EXPECT_DOUBLE_EQ(learning_rate(small, 9, 10), learning_rate(large, 3, 4));
    EXPECT_DOUBLE_EQ(learning_rate(small, 10, 10), learning_rate(large, 4, 4));
  }
}

TEST(TrainSchedule, StaysANumberBehindTheEnd) {
  for (const char* schedule : {"step", "cosine", "poly"}) {
    for (const double warm_up : {0.0, 2.0, 20.0}) {
      const TrainOptions options{.epochs = 10, .lr = 0.4, .lr_schedule = schedule, .warmup_epochs = warm_up};
      for (const std::int64_t step : {0, 99, 100, 150, 1000}) {
        const double rate = learning_rate(options, step, 10);
        EXPECT_TRUE(rate >= 0 && rate <= 0.4 + 1e-12)
            << schedule << " " << warm_up << " " << step << ": " << rate;
      }
    }
  }
}

}  // namespace

}  // namespace octet::train
