#include "train/segmentation_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/paddleseg_numbers.h"
#include "train/convert.h"
#include "train/pixel_loss.h"

namespace octet::train {
namespace {

using ::testing::HasSubstr;

// The values are PaddleSeg's own, for these logits and labels.
struct SegmentationLossTest : ::testing::Test {
  at::Tensor logits = to_torch(testing::paddleseg_logits());
  at::Tensor labels = to_torch(testing::paddleseg_labels());

  double loss(const LossSpec& spec, const SegmentationLossOptions& options = {}) const {
    const at::Tensor before = labels.clone();
    const double value = segmentation_loss(spec, logits, labels, options).item<double>();
    EXPECT_TRUE(at::equal(labels, before)) << spec.type << " changes the labels";
    // The same in another memory order.
    const at::Tensor rows = logits.contiguous(at::MemoryFormat::ChannelsLast);
    EXPECT_NEAR(segmentation_loss(spec, rows, labels, options).item<double>(), value, 1e-6) << spec.type;
    return value;
  }
};

std::vector<LossSpec> all_losses() {
  return {{},
          {.weight = {1, 2, 3}},
          {.avg_non_ignore = false},
          {.top_k_percent_pixels = 0.5},
          {.weight = {1, 2, 3}, .top_k_percent_pixels = 0.5},
          {.type = "OhemCrossEntropyLoss", .thresh = 0.7, .min_kept = 5},
          {.type = "OhemCrossEntropyLoss", .thresh = 0.3, .min_kept = 20},
          {.type = "OhemCrossEntropyLoss", .weight = {3, 2, 1}},
          {.type = "DiceLoss"},
          {.type = "DiceLoss", .weight = {3, 2, 1}, .smooth = 0.5},
          {.type = "LovaszSoftmaxLoss"},
          {.type = "BCELoss"},
          {.type = "BCELoss", .balance = "dynamic"},
          {.type = "BCELoss", .pos_weight = "dynamic"},
          {.type = "BCELoss", .pos_weight = "2.5"},
          {.type = "MixedLoss", .losses = {{.coef = 0.8}, {.type = "LovaszSoftmaxLoss", .coef = 0.2}}}};
}

TEST_F(SegmentationLossTest, EqualsPaddleSeg) {
  EXPECT_NEAR(loss({}), 1.8722323, 1e-6);
  EXPECT_NEAR(loss({.weight = {1, 2, 3}}), 1.7289298, 1e-6);
  EXPECT_NEAR(loss({.avg_non_ignore = false}), 1.6850090, 1e-6);
  EXPECT_NEAR(loss({.top_k_percent_pixels = 0.5}), 2.9499793, 1e-6);
  EXPECT_NEAR(loss({.type = "OhemCrossEntropyLoss", .thresh = 0.7, .min_kept = 5}), 2.2130344, 1e-6);
  EXPECT_NEAR(loss({.type = "OhemCrossEntropyLoss", .thresh = 0.7, .min_kept = 30}), 2.2130344, 1e-6);
  EXPECT_NEAR(loss({.type = "OhemCrossEntropyLoss", .thresh = 0.3, .min_kept = 20}), 2.8704510, 1e-6);
  EXPECT_NEAR(loss({.type = "OhemCrossEntropyLoss"}), 1.8722115, 1e-6);
  EXPECT_NEAR(loss({.type = "DiceLoss"}), 0.6288245, 1e-6);
  EXPECT_NEAR(loss({.type = "LovaszSoftmaxLoss"}), 0.7612063, 1e-6);
  EXPECT_NEAR(loss({.type = "BCELoss"}), 0.9338424, 1e-6);
  // Of PaddleSeg 2.8.0 on Paddle 3.3.1.
  EXPECT_NEAR(loss({.weight = {1, 2, 3}, .top_k_percent_pixels = 0.5}), 2.6968853, 1e-6);
  EXPECT_NEAR(loss({.type = "DiceLoss", .weight = {3, 2, 1}, .smooth = 0.5}), 1.3665457, 1e-6);
  EXPECT_NEAR(loss({.type = "BCELoss", .balance = "dynamic"}), 0.8720705, 1e-6);
  EXPECT_NEAR(loss({.type = "BCELoss", .pos_weight = "dynamic"}), 1.0585968, 1e-6);
  EXPECT_NEAR(loss({.type = "BCELoss", .pos_weight = "2.5"}), 1.4952372, 1e-6);
}

TEST_F(SegmentationLossTest, TheOlderDiceIsThatOfTheBatch) {
  const at::Tensor p = at::softmax(logits, 1), counted = (labels != 255).to(at::kFloat).unsqueeze(1);
  double expected = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    const at::Tensor mine = p.slice(1, c, c + 1) * counted, truth = (labels == c).to(at::kFloat).unsqueeze(1);
    expected += 2 * (mine * truth).sum().item<double>() / ((mine + truth).sum().item<double>() + 1e-5) / 3;
  }
  EXPECT_NEAR(loss({.type = "DiceLoss"}, {.batch_dice = true}), 1 - expected, 1e-6);
  EXPECT_GT(std::abs(loss({.type = "DiceLoss"}) - (1 - expected)), 1e-3);
}

TEST_F(SegmentationLossTest, AMixtureIsTheSumOfItsParts) {
  const LossSpec lovasz{.type = "LovaszSoftmaxLoss", .coef = 0.2}, dice{.type = "DiceLoss", .coef = 0.5};
  EXPECT_NEAR(loss({.type = "MixedLoss", .losses = {dice, {.coef = 0.8}, lovasz}}),
              0.5 * loss(dice) + 0.8 * loss({}) + 0.2 * loss(lovasz), 1e-6);
}

// By finite differences, in double, where losses are compositions of libtorch's functions; in float against
// those.
TEST_F(SegmentationLossTest, Gradients) {
  for (const LossSpec& spec : all_losses()) {
    const at::Tensor x = logits.to(at::kDouble).set_requires_grad(true);
    segmentation_loss(spec, x, labels).backward();
    const at::Tensor gradient = x.grad();
    const at::NoGradGuard no_gradients;
    constexpr double kStep = 1e-6;
    for (std::int64_t i = 0; i < x.numel(); i += 7) {
      const auto at_step = [&](double step) {
        at::Tensor moved = x.detach().clone();
        moved.view({-1})[i] += step;
        return segmentation_loss(spec, moved, labels).item<double>();
      };
      EXPECT_NEAR(gradient.view({-1})[i].item<double>(), (at_step(kStep) - at_step(-kStep)) / (2 * kStep),
                  2e-7)
          << spec.type << " at " << i;
    }
    for (const at::MemoryFormat order : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const at::AutoGradMode gradients(true);
      const at::Tensor y = logits.clone(order).set_requires_grad(true);
      segmentation_loss(spec, y, labels).backward();
      EXPECT_TRUE(at::allclose(y.grad().to(at::kDouble), gradient, 1e-4, 1e-6)) << spec.type;
    }
  }
}

// Blocks that are not full, many classes, large logits.
TEST_F(SegmentationLossTest, PixelsEqualLibtorchs) {
  for (const auto& [classes, height, width] :
       {std::array<std::int64_t, 3>{2, 5, 13}, {19, 11, 64}, {255, 3, 9}}) {
    const at::Tensor x = (at::randn({2, classes, height, width}) * 30).set_requires_grad(true);
    at::Tensor y = at::randint(classes, {2, height, width}, at::kByte);
    y.view({-1}).slice(0, 3, y.numel(), 7).fill_(255);
    const at::Tensor truth = at::cross_entropy_loss(x, y.to(at::kLong), {}, at::Reduction::None, 255);
    const at::Tensor factors = at::rand(truth.sizes());
    (truth * factors).sum().backward();
    const at::Tensor expected = x.grad().clone();
    x.mutable_grad().zero_();
    const at::Tensor losses = pixel_cross_entropy(x, y, 255);
    EXPECT_TRUE(at::allclose(losses, truth, 1e-5, 1e-5)) << classes;
    (losses * factors).sum().backward();
    EXPECT_TRUE(at::allclose(x.grad(), expected, 1e-4, 1e-6)) << classes;
  }
}

TEST_F(SegmentationLossTest, OfBfloat16IsThatOfTheSameFloats) {
  for (const LossSpec& spec : all_losses())
    for (const at::MemoryFormat order : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const at::Tensor low = logits.to(at::kBFloat16).clone(order).set_requires_grad(true),
                       x = low.detach().to(at::kFloat).set_requires_grad(true);
      const at::Tensor value = segmentation_loss(spec, low, labels),
                       expected = segmentation_loss(spec, x, labels);
      EXPECT_EQ(value.scalar_type(), at::kFloat) << spec.type;
      EXPECT_EQ(value.item<float>(), expected.item<float>()) << spec.type;
      value.backward();
      expected.backward();
      EXPECT_TRUE(at::allclose(low.grad().to(at::kFloat), x.grad(), 1.0 / 256, 1e-6)) << spec.type;
    }
}

TEST_F(SegmentationLossTest, NothingButIgnoredPixels) {
  labels.fill_(255);
  for (const LossSpec& spec : all_losses()) {
    const at::Tensor x = logits.clone().set_requires_grad(true);
    const at::Tensor value = segmentation_loss(spec, x, labels);
    value.backward();
    EXPECT_TRUE(std::isfinite(value.item<double>())) << spec.type;
    EXPECT_EQ(x.grad().abs().max().item<double>(), 0) << spec.type;
  }
}

std::string error_of(const LossSpec& spec) try {
  check_loss(spec, 3);
  return "";
} catch (const Error& error) {
  return error.what();
}

TEST_F(SegmentationLossTest, Mistakes) {
  for (const LossSpec& spec : all_losses()) EXPECT_EQ(error_of(spec), "");
  EXPECT_THAT(error_of({.type = "CrossEntropy"}), HasSubstr("did you mean CrossEntropyLoss?"));
  EXPECT_THAT(error_of({.weight = {1, 2}}), HasSubstr("2 weights, and the network has 3 classes"));
  EXPECT_THAT(error_of({.top_k_percent_pixels = 1.5}), HasSubstr("top_k_percent_pixels is 1.5"));
  EXPECT_THAT(error_of({.type = "BCELoss", .pos_weight = "-1"}), HasSubstr("pos_weight is '-1'"));
  EXPECT_THAT(error_of({.type = "MixedLoss"}), HasSubstr("no losses"));
  EXPECT_THAT(error_of({.type = "MixedLoss", .losses = {{.type = "Dice"}}}), HasSubstr("DiceLoss"));
}

}  // namespace
}  // namespace octet::train
