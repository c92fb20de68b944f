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

TEST(ActivationShapes, KeepTheShapeAndWantFloats) {
  for (const char* op : {"relu",         "sigmoid",    "tanh",  "exp",   "sqrt",    "relu6", "leaky_relu",
                         "hard_sigmoid", "hard_swish", "swish", "gelu",  "dropout", "elu",   "softplus",
                         "mish",         "erf",        "log",   "floor", "ceil",    "round"}) {
    EXPECT_EQ(infer_shape(op, {floats({U, 3})}), (Shape{U, 3})) << op;
    EXPECT_THAT(error_of([&] {
                  infer_shape(op, {{DType::kInt32, {3}, nullptr}});
                }),
                HasSubstr("x is int32"))
        << op;
  }
}

TEST(ActivationShapes, SomeTakeAllNumbers) {
  for (const char* op : {"abs", "sign", "clip"}) {
    EXPECT_EQ(infer_shape(op, {{DType::kInt8, {U, 3}, nullptr}}), (Shape{U, 3})) << op;
    EXPECT_THAT(error_of([&] {
                  infer_shape(op, {{DType::kBool, {3}, nullptr}});
                }),
                HasSubstr("x is bool"))
        << op;
  }
}

TEST(ActivationShapes, RejectBadAttributes) {
  EXPECT_THAT(error_of([] {
                infer_shape("clip", {floats({3}), floats({2})});
              }),
              HasSubstr("elements of min"));
  EXPECT_THAT(error_of([] {
                infer_shape("dropout", {floats({3})}, {{"mode", "other"}});
              }),
              HasSubstr("\"other\""));
  EXPECT_THAT(error_of([] { infer_shape("dropout", {floats({3})}, {{"p", 1.5}}); }), HasSubstr("p is 1.5"));
}

}  // namespace
}  // namespace octet
