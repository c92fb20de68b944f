#include "train/precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "train/batch_norm.h"
#include "train/convert.h"
#include "train/device.h"
#include "train/network.h"
#include "train/small_network.h"

namespace octet::train {

namespace {

using octet::testing::random_floats;
using octet::testing::small_network;

// Floats of every kind: zeros, the smallest, what 16 bits hold exactly, the halves between, the largest,
// infinity, NaN.
at::Tensor special_floats() {
  std::vector<float> all;
  for (const std::uint32_t high : {0x0000u, 0x0001u, 0x0002u, 0x007fu, 0x0080u, 0x3300u, 0x3301u, 0x3380u,
                                   0x3880u, 0x3f7fu, 0x3f80u, 0x3f81u, 0x4000u, 0x477fu, 0x4780u, 0x7f00u,
                                   0x7f7eu, 0x7f7fu, 0x7f80u, 0x7fc0u, 0x7fffu, 0x3f82u, 0x4049u})
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu,
                                    0x8000u, 0x8001u, 0xefffu, 0xf000u, 0xffffu})
      for (const std::uint32_t sign : {0u, 0x80000000u})
        all.push_back(std::bit_cast<float>(sign | high << 16 | low));
  return at::tensor(all);
}

void expect_same_numbers(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& x) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const at::Tensor a = actual.contiguous(), b = expected.contiguous(), from = x.contiguous();
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const float got = a.data_ptr<float>()[i], want = b.data_ptr<float>()[i];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << from.data_ptr<float>()[i] << " became " << got;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want))
          << from.data_ptr<float>()[i];
    }
  }
}

TEST(TrainPrecision, RoundsAsTorchConverts) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    SCOPED_TRACE(c10::toString(type));
    const at::Tensor x = special_floats();
    expect_same_numbers(rounded_to(x, type), x.to(type).to(at::kFloat), x);
    const at::Tensor wide = to_torch(random_floats({3, 4, 5, 6}, 1, -1e3f, 1e3f));
    for (const at::Tensor& y : {wide, wide.contiguous(at::MemoryFormat::ChannelsLast), wide.slice(3, 1, 4),
                                wide.transpose(0, 1), wide.expand({3, 4, 5, 6})})
      expect_same_numbers(rounded_to(y, type), y.to(type).to(at::kFloat), y);
  }
}

TEST(TrainPrecision, RoundsAsManyAsThreadsShare) {
  const at::Tensor x = to_torch(random_floats({200000}, 1));
  EXPECT_TRUE(at::equal(rounded_to(x, at::kBFloat16), x.to(at::kBFloat16).to(at::kFloat)));
}

TEST(TrainPrecision, TheGradientGoesStraightThroughAndIsRoundedItself) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor x = to_torch(random_floats({50}, 1)).set_requires_grad(true);
    const at::Tensor weights = to_torch(random_floats({50}, 2));
    const at::Tensor y = lower(x, {.level = Amp::kO1, .dtype = type, .rounded = true});
    EXPECT_EQ(y.scalar_type(), at::kFloat);
    (y * weights).sum().backward();
    EXPECT_TRUE(at::equal(x.grad(), weights.to(type).to(at::kFloat)));
    EXPECT_FALSE(at::equal(x.grad(), weights));
  }
}

TEST(TrainPrecision, WhichOpsAreLowered) {
  EXPECT_EQ(cast_for("conv2d", Amp::kOff), Cast::kKeep);
  EXPECT_EQ(cast_for("conv2d", Amp::kO1), Cast::kLow);
  EXPECT_EQ(cast_for("matmul", Amp::kO1), Cast::kLow);
  EXPECT_EQ(cast_for("relu", Amp::kO1), Cast::kKeep);
  EXPECT_EQ(cast_for("relu", Amp::kO2), Cast::kLow);
  for (const Amp level : {Amp::kO1, Amp::kO2})
    for (const char* op : {"softmax", "batch_norm", "layer_norm", "exp"})
      EXPECT_EQ(cast_for(op, level), Cast::kFloat);
}

// The scores and the gradients of the small network.
std::vector<at::Tensor> train_once(const Precision& precision) {
  Network network(small_network(), at::kCPU);
  network.training = true;
  network.precision = precision;
  const at::Tensor scores = network.forward(to_torch(random_floats({8, 3, 12, 12}, 3))).to(at::kFloat);
  at::cross_entropy_loss(scores, at::tensor({0, 1, 2, 0, 1, 2, 0, 1}, at::kLong)).backward();
  std::vector<at::Tensor> results = {scores.detach()};
  for (const Weight& weight : network.parameters()) results.push_back(weight.tensor.grad());
  return results;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual - expected).norm() / expected.norm()).item<double>();
}

TEST(TrainPrecision, SixteenBitsGiveNearlyTheSame) {
  const std::vector<at::Tensor> expected = train_once({});
  for (const Amp level : {Amp::kO1, Amp::kO2}) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(fmt::format("O{} {}", level == Amp::kO1 ? 1 : 2, c10::toString(type)));
      const std::vector<at::Tensor> rounded = train_once({.level = level, .dtype = type, .rounded = true});
      const double tolerance = type == at::kBFloat16 ? 0.03 : 0.004;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(rounded[i].scalar_type(), at::kFloat);
        EXPECT_LT(relative_error(rounded[i], expected[i]), tolerance) << i;
      }
      EXPECT_GT(relative_error(rounded[0], expected[0]), 1e-6) << "nothing was rounded";
    }
  }
}

// The real 16 bits, which are slow here but must work: a CPU that has them uses them.
TEST(TrainPrecision, RealBfloat16IsWhatRoundingImitates) {
  const std::vector<at::Tensor> expected = train_once({});
  for (const Amp level : {Amp::kO1, Amp::kO2}) {
    SCOPED_TRACE(level == Amp::kO1 ? "O1" : "O2");
    const std::vector<at::Tensor> real =
        train_once({.level = level, .dtype = at::kBFloat16, .rounded = false});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(real[i].scalar_type(), at::kFloat) << "master weights and their gradients are float32";
      EXPECT_LT(relative_error(real[i], expected[i]), 0.03) << i;
    }
  }
}

// What is between convolutions is not widened and narrowed again, unless an op needs floats.
TEST(TrainPrecision, NumbersStayInBfloat16FromOneConvolutionToTheNext) {
  Network network(small_network(), at::kCPU);
  network.training = true;
  std::vector<ValueId> wanted;
  for (const Node& node : network.graph().nodes) wanted.push_back(node.outputs[0]);
  const at::Tensor x = to_torch(random_floats({8, 3, 12, 12}, 3));
  for (const bool rounded : {false, true}) {
    network.precision = {.level = Amp::kO1, .dtype = at::kBFloat16, .rounded = rounded};
    const std::vector<at::Tensor> values = network.forward({x}, wanted);
    const auto type_of = [&](std::string_view op) {
      const std::vector<Node>& nodes = network.graph().nodes;
      const auto node = std::ranges::find(nodes, op, &Node::op);
      return values[static_cast<std::size_t>(node - nodes.begin())].scalar_type();
    };
    for (const char* op : {"conv2d", "batch_norm", "swish", "matmul"})
      EXPECT_EQ(type_of(op), rounded ? at::kFloat : at::kBFloat16) << op;
    for (const char* op : {"sigmoid", "reduce_mean"}) EXPECT_EQ(type_of(op), at::kFloat) << op;
  }
}

TEST(TrainPrecision, BatchNormsOfBfloat16AreThoseOfTheSameFloats) {
  for (const std::int64_t channels : {1, 3, 8, 16, 24, 40, 100})
    for (const std::int64_t size : {1, 5, 30})
      for (const bool is_last : {true, false}) {
        SCOPED_TRACE(fmt::format("{} channels, {} x {}, {}", channels, size, size, is_last));
        const auto order = is_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
        at::Tensor mean[2], variance[2], y[2];
        std::vector<at::Tensor> gradients[2];
        for (const bool is_low : {false, true}) {
          const auto type = is_low ? at::kBFloat16 : at::kFloat;
          const at::Tensor x = to_torch(random_floats({3, channels, size, size}, 1, -1, 3))
                                   .to(at::kBFloat16)
                                   .to(type)
                                   .contiguous(order)
                                   .set_requires_grad(true);
          const at::Tensor scale = to_torch(random_floats({channels}, 2, 0.5f, 1.5f)).set_requires_grad(true),
                           bias = to_torch(random_floats({channels}, 3)).set_requires_grad(true);
          mean[is_low] = at::zeros({channels});
          variance[is_low] = at::ones({channels});
          y[is_low] = batch_norm(x, scale, bias, mean[is_low], variance[is_low], 0.1, 1e-5, nullptr);
          EXPECT_EQ(y[is_low].scalar_type(), type);
          y[is_low].backward(to_torch(random_floats(x.sizes().vec(), 5)).to(at::kBFloat16).to(type));
          gradients[is_low] = {x.grad(), scale.grad(), bias.grad()};
        }
        EXPECT_LT((mean[1] - mean[0]).abs().max().item<double>(), 1e-6);
        EXPECT_LT((variance[1] - variance[0]).abs().max().item<double>(), 1e-5);
        constexpr double kHalfStep = 1.0 / 256;  // of bfloat16
        EXPECT_TRUE(at::allclose(y[1].to(at::kFloat), y[0], kHalfStep * 1.01, 1e-4));
        EXPECT_TRUE(at::allclose(gradients[1][0].to(at::kFloat), gradients[0][0], kHalfStep * 1.01, 1e-4));
        for (const int i : {1, 2})
          EXPECT_TRUE(at::allclose(gradients[1][i], gradients[0][i], 1e-5, 1e-4)) << i;
      }
}

TEST(TrainPrecision, ABatchNormOfBfloat16KeepsWhatIsNoNumber) {
  at::Tensor x = at::ones({2, 20, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  x[1][3][2][1] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor y = batch_norm(x.to(at::kBFloat16), at::ones({20}), at::zeros({20}), at::zeros({20}),
                                  at::ones({20}), 0.1, 1e-5, nullptr);
  EXPECT_TRUE(at::isnan(y.select(1, 3)).all().item<bool>());
  EXPECT_FALSE(at::isnan(y.select(1, 4)).any().item<bool>());
}

TEST(TrainPrecision, PaddedPoolsWorkInSixteenBits) {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 2, 5, 5});
  Network network(b.build({b.max_pool(x, {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}})}),
                  at::kCPU);
  const at::Tensor input = to_torch(random_floats({2, 2, 5, 5}, 5)) - 10;  // padding must not win
  const at::Tensor expected = network.forward(input);
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    network.precision = {.level = Amp::kO2, .dtype = type, .rounded = false};
    EXPECT_LT(relative_error(network.forward(input).to(at::kFloat), expected), 0.01);
  }
}

TEST(TrainPrecision, OptionsChooseIt) {
  EXPECT_EQ(choose_precision({}, at::kCPU).level, Amp::kOff);
  EXPECT_EQ(choose_precision({.amp_level = "O0"}, at::kCPU).level, Amp::kOff);
  const Precision o1 = choose_precision({.amp_level = "O1"}, at::kCPU);
  EXPECT_EQ(o1.level, Amp::kO1);
  EXPECT_EQ(o1.dtype, at::kBFloat16);
  const Precision o2 = choose_precision({.amp_level = "O2", .amp_dtype = "float16"}, at::kCPU);
  EXPECT_EQ(o2.level, Amp::kO2);
  EXPECT_EQ(o2.dtype, at::kHalf);
  EXPECT_TRUE(o2.rounded);
  const Precision gpu = choose_precision({.amp_level = "O2"}, at::kCUDA);
  EXPECT_EQ(gpu.dtype, at::kHalf);
  EXPECT_FALSE(gpu.rounded);
}

}  // namespace

}  // namespace octet::train
