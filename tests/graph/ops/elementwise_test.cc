#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::infer_shape;

constexpr std::int64_t U = kUnknown;

ValueInfo floats(Shape shape) {
  return {DType::kFloat32, std::move(shape), nullptr};
}

TEST(ElementwiseShapes, Check) {
  EXPECT_EQ(infer_shape("add", {floats({U, 3, 4}), floats({3})}, {{"axis", 1}}), (Shape{U, 3, 4}));
  EXPECT_THAT(error_of([] {
                infer_shape("mul", {floats({3}), {DType::kInt32, {3}, nullptr}});
              }),
              HasSubstr("y is int32, expected float32"));
  EXPECT_THAT(error_of([] {
                infer_shape("add", {{DType::kBool, {3}, nullptr}, {DType::kBool, {3}, nullptr}});
              }),
              HasSubstr("expected float32 or float64 or int8"));
  EXPECT_THAT(error_of([] {
                infer_shape("scale", {floats({3}), floats({3})});
              }),
              HasSubstr("elements of scale"));
}

}  // namespace
}  // namespace octet
