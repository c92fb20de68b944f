#include "train/reducer.h"

#include <gtest/gtest.h>

#include "kernels/ref/random.h"
#include "train/convert.h"
#include "train/fake_comm.h"

namespace octet::train {

namespace {

using octet::testing::random_floats;
using octet::testing::run_ranks;

std::vector<Weight> weights_of(const std::vector<std::int64_t>& sizes) {
  std::vector<Weight> weights;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    weights.push_back(
        {fmt::format("w{}", i), static_cast<ValueId>(i), at::ones({sizes[i]}).set_requires_grad(true)});
  return weights;
}

// In step s, the gradient of weight w in process r is this constant.
double gradient_of(int step, std::size_t weight, int rank) {
  return 1.0 + step + 10.0 * static_cast<double>(weight) + 100.0 * rank;
}

void expect_mean(int ranks, const std::vector<std::int64_t>& sizes, const std::vector<bool>& used) {
  std::vector<std::vector<double>> wrong(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Comm& comm) {
    std::vector<Weight> weights = weights_of(sizes);
    const TrainOptions options;
    Optimizer optimizer(weights, options);
    Reducer reducer(weights, optimizer, comm.duplicate());
    for (int step = 0; step < 3; ++step) {
      optimizer.clear_gradients();
      at::Tensor loss = at::zeros({});
      for (std::size_t i = 0; i < weights.size(); ++i)
        if (used[i]) loss = loss + weights[i].tensor.sum() * gradient_of(step, i, comm.rank());
      reducer.start();
      loss.backward();
      reducer.finish();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        double mean = 0;
        for (int r = 0; r < ranks; ++r) mean += gradient_of(step, i, r) / ranks;
        const double expected = used[i] ? mean : 0;
        const double off = (weights[i].tensor.grad() - expected).abs().max().item<double>();
        if (!(off < 1e-4)) wrong[static_cast<std::size_t>(comm.rank())].push_back(off);
      }
    }
  });
  for (const auto& of_rank : wrong) EXPECT_TRUE(of_rank.empty()) << of_rank.size() << " are wrong";
}

TEST(TrainReducer, GradientsBecomeTheMean) {
  expect_mean(2, {5, 40, 1}, {true, true, true});
  expect_mean(3, {5, 40, 1}, {true, true, true});
}

TEST(TrainReducer, InSeveralPieces) {
  expect_mean(2, {1 << 20, 3, (1 << 20) + 7, 100, 1 << 19}, {true, true, true, true, true});
}

TEST(TrainReducer, AWeightThatTheLossDoesNotDependOn) {
  expect_mean(2, {1 << 20, 30, 1 << 20, 4}, {true, false, true, false});
}

TEST(TrainReducer, AWeightThatIsUsedTwiceCountsOnce) {
  std::vector<double> gradients(2);
  run_ranks(2, [&](Comm& comm) {
    std::vector<Weight> weights = weights_of({8, 8});
    const TrainOptions options;
    Optimizer optimizer(weights, options);
    Reducer reducer(weights, optimizer, comm.duplicate());
    reducer.start();
    const at::Tensor& w = weights[0].tensor;
    (w.sum() + (w * w).sum() + (weights[1].tensor * w).sum()).backward();
    reducer.finish();
    gradients[static_cast<std::size_t>(comm.rank())] = w.grad()[0].item<double>();
  });
  EXPECT_EQ(gradients, (std::vector<double>{4, 4}));
}

// What is done between start() and finish() only: an evaluation may derive by the weights for its own ends.
TEST(TrainReducer, ABackwardPassOfItsOwnIsNotExchanged) {
  run_ranks(2, [&](Comm& comm) {
    std::vector<Weight> weights = weights_of({8});
    const TrainOptions options;
    Optimizer optimizer(weights, options);
    Reducer reducer(weights, optimizer, comm.duplicate());
    if (comm.rank() == 0) weights[0].tensor.sum().backward();
    check((weights[0].tensor.grad()[0].item<double>() == 1) == (comm.rank() == 0),
          "gradients are this process' own");
    optimizer.clear_gradients();
    reducer.start();
    (weights[0].tensor.sum() * (comm.rank() + 1)).backward();
    reducer.finish();
    check(weights[0].tensor.grad()[0].item<double>() == 1.5, "the mean of 1 and 2");
  });
}

// Another process may be gone: that must not end this one without a word.
struct BrokenComm : octet::testing::FakeComm {
  using FakeComm::FakeComm;
  void all_reduce(std::span<float>) override { fail("process 1 is gone"); }
};

TEST(TrainReducer, AFailureComesOutOfFinish) {
  std::vector<Weight> weights = weights_of({8});
  const TrainOptions options;
  Optimizer optimizer(weights, options);
  Reducer reducer(weights, optimizer,
                  std::make_unique<BrokenComm>(std::make_shared<octet::testing::FakeComm::Group>(2), 0));
  reducer.start();
  weights[0].tensor.sum().backward();
  try {
    reducer.finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "process 1 is gone");
  }
}

}  // namespace

}  // namespace octet::train
