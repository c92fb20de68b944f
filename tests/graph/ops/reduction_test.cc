#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::infer_shape;
using testing::Ints;

constexpr std::int64_t U = kUnknown;

ValueInfo floats(Shape shape) {
  return {DType::kFloat32, std::move(shape), nullptr};
}

TEST(ReductionShapes, Reduce) {
  EXPECT_EQ(infer_shape("reduce_mean", {floats({U, 3, 4})}), Shape{});
  EXPECT_EQ(infer_shape("reduce_mean", {floats({U, 3, 4})}, {{"axes", Ints{-1, 1}}}), Shape{U});
  EXPECT_EQ(infer_shape("reduce_sum", {floats({U, 3, 4})}, {{"axes", Ints{0}}, {"keepdims", true}}),
            (Shape{1, 3, 4}));
  EXPECT_EQ(
      infer_shape("reduce_max", {floats({U, 3})}, {{"axes", Ints{0}}, {"all", true}, {"keepdims", true}}),
      (Shape{1, 1}));
  EXPECT_THAT(error_of([] {
                infer_shape("reduce_sum", {floats({2})}, {{"axes", Ints{1}}});
              }),
              HasSubstr("axis 1"));
  EXPECT_EQ(infer_shape("reduce_max", {floats({0, 2})}, {{"axes", Ints{0}}}), Shape{2});
  EXPECT_EQ(infer_shape("reduce_max", {floats({0, 2})}, {{"axes", Ints{1}}}), Shape{0});
  EXPECT_THAT(error_of([] {
                infer_shape("reduce_mean", {{DType::kInt64, {2}, nullptr}});
              }),
              HasSubstr("x is int64"));
}

TEST(ReductionShapes, AxesFromAnInput) {
  ValueInfo two{DType::kInt64, {2}, nullptr}, none{DType::kInt64, {0}, nullptr};
  EXPECT_EQ(infer_shape("reduce_min", {floats({4, 5, 6}), two}), Shape{U});
  EXPECT_EQ(infer_shape("reduce_min", {floats({4, 5, 6}), two}, {{"keepdims", true}}), (Shape{U, U, U}));
  EXPECT_EQ(infer_shape("reduce_min", {floats({4, 5, 6}), none}), Shape{});
}

TEST(ReductionShapes, ArgMax) {
  EXPECT_EQ(infer_shape("arg_max", {floats({U, 19, 4, 5})}, {{"axis", 1}}), (Shape{U, 4, 5}));
  EXPECT_EQ(infer_shape("arg_max", {floats({U, 19})}, {{"keepdims", true}}), (Shape{U, 1}));
  EXPECT_EQ(infer_shape("arg_max", {floats({U, 19})}, {{"flatten", true}}), Shape{});
  ValueInfo axis{DType::kInt64, {1}, nullptr};
  EXPECT_EQ(infer_shape("arg_max", {floats({4, 19}), axis}), Shape{U}) << "before a run decides the axis";
  EXPECT_THAT(error_of([] { infer_shape("arg_max", {floats({2, 0})}); }), HasSubstr("no maximum"));
  EXPECT_THAT(error_of([] {
                infer_shape("arg_max", {floats({2})}, {{"dtype", "int8"}});
              }),
              HasSubstr("dtype is \"int8\", expected \"int32\" or \"int64\""));
}

}  // namespace
}  // namespace octet
