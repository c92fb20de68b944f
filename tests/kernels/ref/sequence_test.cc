#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::Ints;
using ::testing::Pointwise;
using testing::run_node;
using testing::run_node_multi;
using testing::values;

Tensor counting(Shape shape, float next = 0) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

// Expected values are ONNX Runtime's, for x 0.5, -1, 2 and weights 0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8.
TEST(RefLstm, BothWays) {
  Tensor x(DType::kFloat32, {3, 1, 8}), recurrent(DType::kFloat32, {1, 8, 2});
  const float steps[] = {0.5f, -1, 2}, weights[] = {0.1f, -0.2f, 0.3f, 0.4f, 0.5f, -0.6f, 0.7f, 0.8f};
  for (std::size_t i = 0; i < 24; ++i) x.mutable_data<float>()[i] = steps[i / 8] * weights[i % 8];
  for (std::size_t i = 0; i < 16; ++i)
    recurrent.mutable_data<float>()[i] = static_cast<float>(static_cast<double>(i) / 10 - 0.8);
  auto forward = run_node_multi("lstm", {x, recurrent}, {}, 3);
  EXPECT_EQ(forward[0].shape(), (Shape{3, 1, 1, 2}));
  EXPECT_THAT(values<float>(forward[0]),
              Pointwise(FloatNear(1e-6f),
                        {0.09174136f, 0.09817239f, -0.07097778f, -0.07413521f, 0.23495434f, 0.22641641f}));
  EXPECT_THAT(values<float>(forward[2]), Pointwise(FloatNear(1e-6f), {0.37405542f, 0.33832037f}));
  Tensor none, length = Tensor::of<std::int32_t>({1}, {2});
  auto reverse =
      run_node_multi("lstm", {x, recurrent, none, none, none, length}, {{"direction", "reverse"}}, 3);
  EXPECT_THAT(
      values<float>(reverse[0]),
      Pointwise(FloatNear(1e-6f), {-0.01818192f, -0.01898681f, -0.11892279f, -0.14034179f, 0.0f, 0.0f}));
  EXPECT_THAT(values<float>(reverse[1]), Pointwise(FloatNear(1e-6f), {-0.01818192f, -0.01898681f}));
  EXPECT_THAT(error_of([&] {
                run_node("lstm", {x, recurrent}, {{"direction", "bidirectional"}});
              }),
              HasSubstr("recurrent"));
}

TEST(RefEinsum, SumsOverWhatTheResultLacks) {
  Tensor a = counting({2, 3}), b = counting({3, 2});
  EXPECT_THAT(values<float>(run_node("einsum", {a, b}, {{"labels", Ints{0, 1, -1, 1, 2, -1, 0, 2}}})),
              ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(values<float>(run_node("einsum", {a}, {{"labels", Ints{0, 1, -1, 1, 0}}})),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values<float>(run_node("einsum", {counting({2, 2})}, {{"labels", Ints{0, 0, -1, 0}}})),
              ElementsAre(0, 3))
      << "a diagonal";
  Tensor v = counting({2}, 1);
  EXPECT_THAT(values<float>(run_node("einsum", {v, v, v}, {{"labels", Ints{0, -1, 0, -1, 0, -1}}})),
              ElementsAre(9));
  EXPECT_THAT(error_of([&] {
                run_node("einsum", {a, b}, {{"labels", Ints{0, 1, -1, 1, 2}}});
              }),
              HasSubstr("2 groups"));
  EXPECT_THAT(error_of([&] {
                run_node("einsum", {a}, {{"labels", Ints{0, 1, -1, 5}}});
              }),
              HasSubstr("which no input has"));
}

}  // namespace
}  // namespace octet
