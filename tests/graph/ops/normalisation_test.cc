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

TEST(NormalisationShapes, BatchNorm) {
  auto infer = [](Shape x, Shape c) {
    return infer_shape("batch_norm", {floats(x), floats(c), floats(c), floats(c), floats(c)});
  };
  EXPECT_EQ(infer({2, 3, 4}, {3}), (Shape{2, 3, 4}));
  EXPECT_EQ(infer({U, U, 4, 4}, {3}), (Shape{U, 3, 4, 4})) << "the parameters tell the channels";
  EXPECT_EQ(error_of([&] { infer({2, 3, 4}, {4}); }), "batch_norm \"out\": scale has shape 4, expected 3");
  EXPECT_THAT(error_of([&] { infer({2, 3, 4}, {1, 3}); }), HasSubstr("scale has shape 1x3"));
  EXPECT_THAT(error_of([&] { infer({3}, {3}); }), HasSubstr("at least 2 dimensions"));
  EXPECT_THAT(error_of([] {
                ValueInfo c = floats({3}), whole{DType::kInt32, {3}, nullptr};
                infer_shape("batch_norm", {floats({2, 3}), c, c, c, whole});
              }),
              HasSubstr("variance is int32, expected float32"));
}

TEST(NormalisationShapes, LayerNorm) {
  auto infer = [](Shape x, Shape parameter, std::int64_t axis) {
    return infer_shape("layer_norm", {floats(x), floats(parameter)}, {{"begin_norm_axis", axis}});
  };
  EXPECT_EQ(infer({U, 5, 6}, {6}, 2), (Shape{U, 5, 6}));
  EXPECT_EQ(infer({U, 5, 6}, {30}, -2), (Shape{U, 5, 6}));
  EXPECT_THAT(error_of([&] { infer({U, 5, 6}, {6}, 1); }), HasSubstr("scale has shape 6, expected 30"));
  EXPECT_THAT(error_of([&] { infer({U, 5, 6}, {6}, 3); }), HasSubstr("begin_norm_axis 3 is out of range"));
}

TEST(NormalisationShapes, Softmax) {
  EXPECT_EQ(infer_shape("softmax", {floats({2, U})}), (Shape{2, U}));
  EXPECT_EQ(infer_shape("softmax", {floats({})}), Shape{});
  EXPECT_THAT(error_of([] { infer_shape("softmax", {floats({2})}, {{"axis", 1}}); }), HasSubstr("axis 1"));
  EXPECT_THAT(error_of([] {
                infer_shape("softmax", {{DType::kInt8, {2}, nullptr}});
              }),
              HasSubstr("x is int8"));
}

}  // namespace
}  // namespace octet
