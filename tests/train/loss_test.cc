#include "train/loss.h"

#include <gtest/gtest.h>

namespace octet::train {
namespace {

Batch batch_of(std::vector<std::int64_t> labels, Mixture mixture = {}) {
  Batch batch;
  batch.labels = std::move(labels);
  batch.mixture = std::move(mixture);
  return batch;
}

double loss(const at::Tensor& output, const Batch& batch, const LossOptions& options = {}) {
  return losses_of(Loss::kCrossEntropy, {output}, batch, options).at(0).item<double>();
}

struct LossTest : ::testing::Test {
  at::Tensor output = at::tensor({1.0, 2.0, -1.0, 0.5, 0.25, 3.0}, at::kFloat).view({2, 3});
  at::Tensor weights = at::tensor({1.0, 2.0, 5.0}, at::kFloat);
};

TEST_F(LossTest, AMixtureCountsBothClassesByTheirShare) {
  const Mixture mixture{.labels = {0, 1}, .share = 0.3};
  for (double smoothing : {0.0, 0.1}) {
    const LossOptions options{.label_smoothing = smoothing};
    EXPECT_NEAR(loss(output, batch_of({1, 2}, mixture), options),
                0.7 * loss(output, batch_of({1, 2}), options) + 0.3 * loss(output, batch_of({0, 1}), options),
                1e-6);
  }
}

TEST_F(LossTest, AMixtureOfAClassWithItselfIsThatClass) {
  for (double smoothing : {0.0, 0.1}) {
    const LossOptions options{.label_smoothing = smoothing, .class_weights = weights};
    EXPECT_NEAR(loss(output, batch_of({1, 2}, {.labels = {1, 2}, .share = 0.4}), options),
                loss(output, batch_of({1, 2}), options), 1e-6);
  }
}

TEST_F(LossTest, WeightsSayHowMuchAClassCounts) {
  const double first = loss(output.slice(0, 0, 1), batch_of({1})),
               second = loss(output.slice(0, 1, 2), batch_of({2}));
  EXPECT_NEAR(loss(output, batch_of({1, 2}), {.class_weights = weights}), (2 * first + 5 * second) / 7, 1e-6);
}

}  // namespace
}  // namespace octet::train
