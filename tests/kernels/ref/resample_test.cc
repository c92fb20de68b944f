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
using testing::values;

Tensor counting(Shape shape, float next = 0) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

TEST(RefResample, AnyAxes) {
  Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(values<float>(run_node("resample", {x}, {{"scales", std::vector<double>{2, 1}}})),
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  Attrs wide{{"axes", Ints{1}}, {"sizes", Ints{3}}, {"mode", "linear"}};
  EXPECT_THAT(values<float>(run_node("resample", {x}, wide)),
              Pointwise(FloatNear(1e-6f), {1.0f, 1.5f, 2.0f, 3.0f, 3.5f, 4.0f}));
  Tensor sizes = Tensor::of<std::int64_t>({2}, {1, 2});
  EXPECT_EQ(run_node("resample", {x, sizes}).shape(), (Shape{1, 2}));
  EXPECT_THAT(error_of([&] { run_node("resample", {x}); }), HasSubstr("0 scales for 2 axes"));
  EXPECT_THAT(error_of([&] { run_node("resample", {x}, {{"axes", Ints{0, 0}}}); }), HasSubstr("twice"));
}

// Expected values are ONNX Runtime's.
TEST(RefResample, CubicAndAntialias) {
  Tensor x = Tensor::of<float>({4}, {1, 4, 9, 16});
  auto expect = [&](Attrs attrs, const std::vector<float>& expected) {
    EXPECT_THAT(values<float>(run_node("resample", {x}, attrs)), Pointwise(FloatNear(2e-5f), expected));
  };
  expect({{"mode", "cubic"}, {"sizes", Ints{8}}}, {0.68359375f, 1.50390625f, 2.79296875f, 5.203125f,
                                                   7.234375f, 11.11328125f, 14.58984375f, 16.73828125f});
  expect({{"mode", "cubic"}, {"sizes", Ints{8}}, {"exclude_outside", true}, {"cubic_coeff", -0.5}},
         {0.7352941f, 1.459854f, 2.9923663f, 5.0625f, 7.5625f, 10.893129f, 14.781022f, 16.617647f});
  std::vector<double> half = {0.5};
  expect({{"mode", "linear"}, {"scales", half}, {"antialias", true}}, {3.125f, 11.875f});
  expect({{"mode", "cubic"}, {"scales", half}, {"antialias", true}}, {2.310546875f, 12.408203125f});
}

TEST(RefResample, CropsAndKeepsTheAspect) {
  Tensor x = counting({1, 1, 2, 4});
  Attrs crop{{"mode", "linear"},
             {"coordinates", "crop"},
             {"axes", Ints{3}},
             {"sizes", Ints{3}},
             {"roi", std::vector<double>{0.5, 1.5}},
             {"extrapolation", -7.0}};
  EXPECT_THAT(values<float>(run_node("resample", {x}, crop)), ElementsAre(1.5f, 3, -7, 5.5f, 7, -7));
  Attrs fit{{"axes", Ints{2, 3}}, {"sizes", Ints{6, 6}}, {"aspect", "not_larger"}};
  EXPECT_EQ(run_node("resample", {x}, fit).shape(), (Shape{1, 1, 3, 6}));
  fit["aspect"] = "not_smaller";
  EXPECT_EQ(run_node("resample", {x}, fit).shape(), (Shape{1, 1, 6, 12}));
}

}  // namespace
}  // namespace octet
