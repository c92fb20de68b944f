#include "graph/ops/infer.h"

#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet::ops {
namespace {

using octet::testing::error_of;
using ::testing::HasSubstr;

constexpr std::int64_t U = kUnknown;

TEST(Infer, NormalizeAxis) {
  EXPECT_EQ(normalize_axis(2, 3), 2);
  EXPECT_EQ(normalize_axis(-3, 3), 0);
  for (std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, INT64_MAX, INT64_MIN})
    EXPECT_THAT(error_of([&] { normalize_axis(bad, 3, "stop_axis"); }), HasSubstr("stop_axis")) << bad;
  EXPECT_NE(error_of([&] { normalize_axis(0, 0); }), "");
}

TEST(Infer, BroadcastsLikeNumpy) {
  EXPECT_EQ(broadcast({2, 3}, {3}).out, (Shape{2, 3}));
  EXPECT_EQ(broadcast({3}, {2, 1}).out, (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {2, 1}).out, (Shape{2, 1}));
  EXPECT_EQ(broadcast({4, 1, 5}, {3, 1}).out, (Shape{4, 3, 5}));
  EXPECT_EQ(broadcast({0, 3}, {1, 3}).out, (Shape{0, 3}));
  EXPECT_EQ(broadcast({U, 3, U}, {1, U, 7}).out, (Shape{U, 3, 7}));
  EXPECT_EQ(error_of([&] {
              broadcast({2, 3}, {2, 4});
            }),
            "shapes 2x3 and 2x4 (axis -1) do not fit: dimensions 3 and 4 do not broadcast");
  EXPECT_NE(error_of([&] { broadcast({2, 0}, {2, 4}); }), "");
}

TEST(Infer, BroadcastsFromAnAxisOnLikePaddle) {
  EXPECT_EQ(broadcast({2, 3, 4, 5}, {3}, 1).y, (Shape{1, 3, 1, 1}));
  EXPECT_EQ(broadcast({2, 3, 4, 5}, {3, 4}, 1).out, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(broadcast({2, 3, 4}, {2, 3, 4}, 1).out, (Shape{2, 3, 4})) << "equal shapes need no axis";
  EXPECT_EQ(broadcast({2, 3, 4}, {4, 1, 1}, 2).y, (Shape{1, 1, 4})) << "ones at the end may be too many";
  EXPECT_EQ(broadcast({3, 4}, {2, 3, 4, 5}, 1).x, (Shape{1, 3, 4, 1})) << "the smaller one moves";
  EXPECT_EQ(broadcast({2, 3}, {}, 1).y, (Shape{1, 1}));
  EXPECT_THAT(error_of([&] { broadcast({2, 3}, {3, 4}, 1); }), HasSubstr("goes beyond 2 dimensions"));
  EXPECT_THAT(error_of([&] { broadcast({2, 3}, {3}, 3); }), HasSubstr("axis 3 is out of range"));
  EXPECT_THAT(error_of([&] { broadcast({2, 3}, {3}, -2); }), HasSubstr("axis -2 is out of range"));
  EXPECT_NE(error_of([&] { broadcast({2, 3}, {3}, INT64_MAX); }), "");
}

TEST(Infer, Product) {
  EXPECT_EQ(product({2, 3, 4}), 24);
  EXPECT_EQ(product({2, 3, 4}, 1, 3), 12);
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(product({2, U}), U);
  EXPECT_EQ(product({0, U}), 0);
  EXPECT_THAT(error_of([&] { product({INT64_MAX, INT64_MAX, U}); }), HasSubstr("too many elements"));
}

TEST(Infer, Integers) {
  Tensor three = Tensor::of<std::int32_t>({3}, {4, 0, -1}), one = Tensor::scalar<std::int64_t>(5);
  ValueInfo known{DType::kInt32, {3}, &three}, open{DType::kInt32, {3}, nullptr},
      scalar{DType::kInt64, {}, &one};
  EXPECT_EQ(ints_of(known, "v"), (MaybeInts{4, 0, -1}));
  EXPECT_EQ(ints_of(open, "v"), MaybeInts(3));
  EXPECT_EQ(ints_of(scalar, "v"), MaybeInts{5});
  EXPECT_EQ(ints_of({DType::kInt32, {U}, nullptr}, "v"), std::nullopt);
  EXPECT_EQ(int_of(scalar, "v"), 5);
  EXPECT_THAT(error_of([&] { int_of(known, "axis"); }), HasSubstr("axis has shape 3, expected one element"));
  EXPECT_THAT(error_of([&] {
                ints_of({DType::kFloat32, {3}, nullptr}, "shape");
              }),
              HasSubstr("shape is float32"));
  EXPECT_THAT(error_of([&] { ints_of({DType::kInt32, {65}, nullptr}, "shape"); }), HasSubstr("at most 64"));
  EXPECT_THAT(error_of([&] {
                ints_of({DType::kInt32, {2, 2}, nullptr}, "shape");
              }),
              HasSubstr("expected a vector"));

  const ValueInfo* items[] = {&scalar, &scalar};
  EXPECT_EQ(ints_from(items, &known, {9}, "v"), (MaybeInts{5, 5}));
  EXPECT_EQ(ints_from({}, &known, {9}, "v"), (MaybeInts{4, 0, -1}));
  EXPECT_EQ(ints_from({}, nullptr, {9}, "v"), MaybeInts{9});
}

}  // namespace
}  // namespace octet::ops
