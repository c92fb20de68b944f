#include "train/ops.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/activation.h"
#include "train/convert.h"
#include "train/op_cases.h"
#include "train/quantized_ops.h"

// The ops of training against the reference kernels, and their gradients against differences of their values.
namespace octet::train {

namespace {

using octet::testing::one_node;
using octet::testing::op_cases;
using octet::testing::OpCase;

// These tensors are too small to be shared between threads.
struct OneThread {
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(threads); }
  const int threads = at::get_num_threads();
};

// What libtorch makes of a case.
std::vector<at::Tensor> run_in_torch(const OpCase& c, std::vector<at::Tensor> inputs) {
  const Graph graph = one_node(c.op, c.inputs, c.attrs, c.outputs);
  const Operation operation = find_operation(c.op);
  return operation({.node = graph.nodes[0], .inputs = inputs});
}

std::vector<at::Tensor> torch_inputs(const OpCase& c) {
  std::vector<at::Tensor> inputs;
  for (const Tensor& input : c.inputs) inputs.push_back(input.empty() ? at::Tensor() : to_torch(input));
  return inputs;
}

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  const Tensor a = actual.cast(DType::kFloat64), b = expected.cast(DType::kFloat64);
  for (std::size_t i = 0; i < a.data<double>().size(); ++i) {
    const double want = b.data<double>()[i];
    ASSERT_NEAR(a.data<double>()[i], want, 1e-5 * std::max(1.0, std::abs(want))) << "at " << i;
  }
}

TEST(TrainOps, EveryOpHasACounterpartOrSaysThatItIsNotTrainable) {
  for (const OpSpec& spec : op_table()) {
    const bool has_one = find_operation(spec.name) || find_quantization(spec.name) ||
                         spec.name == "batch_norm";  // the network's own: it has statistics
    EXPECT_EQ(has_one, spec.trainable) << spec.name;
  }
}

// A new activation function trains by its row alone; those that libtorch has tell whether that is right.
TEST(TrainOps, ActivationsByTheirRowAreLibtorchs) {
  for (const OpCase& c : op_cases()) {
    if (!find_activation(c.op)) continue;
    SCOPED_TRACE(c.op + ": " + c.name);
    const Graph graph = one_node(c.op, c.inputs, c.attrs, c.outputs);
    const at::Tensor upstream = at::rand(to_torch(c.inputs[0]).sizes());
    at::Tensor results[2], gradients[2];
    for (int i : {0, 1}) {
      const at::Tensor x = to_torch(c.inputs[0]).clone().set_requires_grad(true);
      const std::vector<at::Tensor> inputs = {x};
      const Call call{.node = graph.nodes[0], .inputs = inputs};
      results[i] = (i == 0 ? find_operation(c.op)(call) : table_activation(call))[0];
      results[i].backward(upstream);
      gradients[i] = x.grad();
    }
    EXPECT_TRUE(at::allclose(results[0], results[1], 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(gradients[0], gradients[1], 1e-4, 1e-5));
  }
}

TEST(TrainOps, EveryOpHasCases) {
  std::set<std::string_view> tried;
  for (const OpCase& c : op_cases()) tried.insert(c.op);
  for (std::string_view op : operations()) {
    EXPECT_TRUE(tried.contains(op)) << op;
    EXPECT_NE(find_op(op), nullptr) << op << " is no op of octet";
  }
}

TEST(TrainOps, AnUnknownOneIsNull) {
  EXPECT_EQ(find_operation("qconv2d"), nullptr);
  EXPECT_EQ(find_operation("batch_norm"), nullptr);
}

TEST(TrainOps, ComputeWhatTheReferenceComputes) {
  const OneThread one_thread;
  for (const OpCase& c : op_cases()) {
    SCOPED_TRACE(::testing::PrintToString(c));
    try {
      const std::vector<Tensor> expected = octet::testing::run_node_multi(c.op, c.inputs, c.attrs, c.outputs);
      const std::vector<at::Tensor> actual = run_in_torch(c, torch_inputs(c));
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) expect_same(from_torch(actual[i]), expected[i]);
    } catch (const std::exception& error) {
      ADD_FAILURE() << first_line(error);
    }
  }
}

// Pictures lie channels last in a network.
TEST(TrainOps, DoNotCareHowPicturesLieInMemory) {
  const OneThread one_thread;
  for (const OpCase& c : op_cases()) {
    SCOPED_TRACE(::testing::PrintToString(c));
    std::vector<at::Tensor> inputs = torch_inputs(c), turned = inputs;
    for (at::Tensor& input : turned)
      if (input.defined() && input.dim() == 4) input = input.contiguous(at::MemoryFormat::ChannelsLast);
    try {
      const std::vector<at::Tensor> plain = run_in_torch(c, inputs), other = run_in_torch(c, turned);
      for (std::size_t i = 0; i < plain.size(); ++i) expect_same(from_torch(other[i]), from_torch(plain[i]));
    } catch (const std::exception& error) {
      ADD_FAILURE() << first_line(error);
    }
  }
}

// A number that depends on every element of every output, differently.
at::Tensor weighted_sum(const std::vector<at::Tensor>& outputs) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const at::Tensor& output : outputs) {
    if (!output.is_floating_point()) continue;
    const at::Tensor weights =
        at::cos(at::arange(output.numel(), at::kDouble) * 1.7 + 0.3).view(output.sizes());
    // A maximum over nothing is the lowest float, in which others would drown.
    sum = sum + at::where(output.abs() < 1e30, output.to(at::kDouble) * weights, 0.0).sum();
  }
  return sum;
}

// Which inputs are numbers to derive by: not those that say how much to clip, scale or resize.
bool has_gradient(const OpCase& c, std::size_t input) {
  if (c.inputs[input].empty() || c.inputs[input].dtype() != DType::kFloat32) return false;
  const bool is_setting = input > 0 && (c.op == "clip" || c.op == "scale" || c.op == "resize" ||
                                        c.op == "full" || c.op == "observe");
  return !is_setting && c.op != "arg_max" && c.op != "cast" && c.op != "shape";
}

TEST(TrainOps, GradientsAreThoseOfTheValues) {
  constexpr double kStep = 1e-5;
  const OneThread one_thread;
  int derived = 0;
  for (const OpCase& c : op_cases()) {
    SCOPED_TRACE(::testing::PrintToString(c));
    std::vector<at::Tensor> inputs = torch_inputs(c);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (has_gradient(c, i)) inputs[i] = inputs[i].to(at::kDouble).set_requires_grad(true);
    try {
      const at::Tensor value = weighted_sum(run_in_torch(c, inputs));
      if (value.requires_grad()) value.backward();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!has_gradient(c, i)) continue;
        SCOPED_TRACE("input " + std::to_string(i));
        ASSERT_TRUE(inputs[i].grad().defined()) << "no gradient";
        const at::NoGradGuard no_gradients;
        const at::Tensor gradient = inputs[i].grad().contiguous();
        auto* x = inputs[i].data_ptr<double>();
        const auto* g = gradient.data_ptr<double>();
        // Of the large ones every third or so.
        const std::int64_t stride = 1 + inputs[i].numel() / 40;
        for (std::int64_t e = 0; e < inputs[i].numel(); e += stride) {
          const double old = x[e];
          x[e] = old + kStep;
          const double above = weighted_sum(run_in_torch(c, inputs)).item<double>();
          x[e] = old - kStep;
          const double below = weighted_sum(run_in_torch(c, inputs)).item<double>();
          x[e] = old;
          const double expected = (above - below) / (2 * kStep);
          ASSERT_NEAR(g[e], expected, 1e-6 * std::max(1.0, std::abs(expected))) << "element " << e;
        }
        ++derived;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << first_line(error);
    }
  }
  EXPECT_GT(derived, 300);
}

// Dropout in training.

at::Tensor drop(const at::Tensor& x, Attrs attrs, const Step& step) {
  const Graph graph = one_node("dropout", {from_torch(x)}, std::move(attrs));
  const std::vector<at::Tensor> inputs = {x};
  return find_operation("dropout")({.node = graph.nodes[0], .inputs = inputs, .training = true, .step = step})
      .at(0);
}

TEST(TrainOps, DropoutDropsTheShareAndKeepsTheMean) {
  const at::Tensor y = drop(at::ones({16, 2500}), {{"p", 0.3}}, {.seed = 5, .number = 7});
  const double dropped = y.eq(0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(dropped, 0.3, 0.01);
  EXPECT_NEAR(y.max().item<float>(), 1 / 0.7, 1e-6);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.02);
}

TEST(TrainOps, DropoutThatDowngradesDoesNotScaleInTraining) {
  const at::Tensor y = drop(at::ones({4, 100}), {{"p", 0.5}, {"mode", "downgrade_in_infer"}}, {});
  EXPECT_EQ(y.max().item<float>(), 1);
  EXPECT_EQ(y.min().item<float>(), 0);
}

TEST(TrainOps, DropoutOfNothingAndOfEverything) {
  const at::Tensor x = at::ones({4, 100});
  EXPECT_TRUE(at::equal(drop(x, {{"p", 0.0}}, {}), x));
  EXPECT_TRUE(at::equal(drop(x, {{"p", 1.0}}, {}), at::zeros_like(x)));
}

TEST(TrainOps, DropoutFollowsSeedStepAndPlace) {
  const at::Tensor x = at::ones({6, 200});
  const Step step{.seed = 3, .number = 11};
  const at::Tensor y = drop(x, {}, step);
  EXPECT_TRUE(at::equal(y, drop(x, {}, step)));
  EXPECT_FALSE(at::equal(y, drop(x, {}, {.seed = 4, .number = 11})));
  EXPECT_FALSE(at::equal(y, drop(x, {}, {.seed = 3, .number = 12})));
  EXPECT_FALSE(at::equal(y[0], y[1]));
  // Two processes share the batch: sample i of process r is sample 2 i + r.
  for (int rank : {0, 1}) {
    const at::Tensor part = drop(at::ones({3, 200}), {}, {.seed = 3, .number = 11, .rank = rank, .world = 2});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(part[i], y[2 * i + rank])) << i;
  }
}

}  // namespace

}  // namespace octet::train
