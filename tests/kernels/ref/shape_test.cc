#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::Ints;
using testing::run_node;
using testing::run_node_multi;
using testing::values;

template <class T>
Tensor counting(Shape shape) {
  Tensor tensor(DTypeOf<T>::value, std::move(shape));
  for (T next = 0; T & v : tensor.mutable_data<T>()) v = next++;
  return tensor;
}

template <class T>
class RefShape : public ::testing::Test {};
using ElementTypes = ::testing::Types<std::int8_t, std::int16_t, float, std::int64_t>;  // of every size
TYPED_TEST_SUITE(RefShape, ElementTypes);

TYPED_TEST(RefShape, CopiesUnderAnotherShape) {
  using T = TypeParam;
  Tensor x = counting<T>({2, 1, 3});
  std::vector<T> same = values<T>(x);
  Tensor y = run_node("reshape", {x}, {{"shape", Ints{3, -1}}});
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(values<T>(y), same);
  EXPECT_EQ(values<T>(run_node("flatten", {x})), same);
  EXPECT_EQ(values<T>(run_node("squeeze", {x}, {{"axes", Ints{1}}})), same);
  EXPECT_EQ(values<T>(run_node("unsqueeze", {x}, {{"axes", Ints{0}}})), same);
}

TYPED_TEST(RefShape, Transpose) {
  using T = TypeParam;
  Tensor x = counting<T>({2, 3, 4});
  const Ints perms[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {-1, -2, -3}};
  for (const Ints& perm : perms) {
    Tensor y = run_node("transpose", {x}, {{"perm", perm}}, 2);
    std::size_t strides[] = {12, 4, 1}, at = 0;
    std::size_t s[3];
    for (std::size_t d = 0; d < 3; ++d) s[d] = strides[(perm[d] + 3) % 3];
    for (std::int64_t i = 0; i < y.dim(0); ++i)
      for (std::int64_t j = 0; j < y.dim(1); ++j)
        for (std::int64_t k = 0; k < y.dim(2); ++k, ++at)
          EXPECT_EQ(y.data<T>()[at],
                    x.data<T>()[static_cast<std::size_t>(i) * s[0] + static_cast<std::size_t>(j) * s[1] +
                                static_cast<std::size_t>(k) * s[2]]);
  }
}

TYPED_TEST(RefShape, ConcatAndSplitUndoEachOther) {
  using T = TypeParam;
  Tensor x = counting<T>({4, 4, 4});
  for (std::int64_t axis : {0, 1, 2, -1}) {
    std::vector<Tensor> parts =
        run_node_multi("split", {x}, {{"axis", axis}, {"sections", Ints{1, 0, -1}}}, 3);
    EXPECT_EQ(parts[0].size(), 16);
    EXPECT_EQ(parts[1].size(), 0);
    EXPECT_EQ(parts[2].size(), 48);
    Tensor y = run_node("concat", {Tensor(), parts[0], parts[1], parts[2]}, {{"axis", axis}});
    EXPECT_EQ(values<T>(y), values<T>(x)) << axis;
  }
  Tensor a = counting<T>({2, 1}), b = counting<T>({2, 2}), axis = Tensor::of<std::int32_t>({1}, {1});
  EXPECT_THAT(values<T>(run_node("concat", {axis, a, b})), ElementsAre(0, 0, 1, 1, 2, 3));
  EXPECT_THAT(values<T>(run_node_multi("split", {b, axis}, {{"num", 2}}, 2)[1]), ElementsAre(1, 3));
}

TYPED_TEST(RefShape, Slice) {
  using T = TypeParam;
  Tensor x = counting<T>({3, 4});
  auto slice = [&](Ints axes, Ints starts, Ints ends, Ints decrease) {
    return run_node("slice", {x},
                    {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"decrease_axes", decrease}});
  };
  EXPECT_THAT(values<T>(slice({0, 1}, {1, 1}, {3, 3}, {})), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(values<T>(slice({1}, {-1}, {100}, {})), ElementsAre(3, 7, 11));
  EXPECT_THAT(values<T>(slice({0}, {1}, {2}, {0})), ElementsAre(4, 5, 6, 7));
  Tensor scalar = slice({0, 1}, {2, 2}, {3, 3}, {0, 1});
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_THAT(values<T>(scalar), ElementsAre(10));
  EXPECT_EQ(slice({0}, {2}, {1}, {}).shape(), (Shape{0, 4}));
}

TEST(RefShapeOps, SliceFromInputs) {
  Tensor x = counting<float>({6});
  auto vector = [](std::int32_t v) { return Tensor::of<std::int32_t>({1}, {v}); };
  Attrs attrs{{"axes", Ints{0}}, {"starts", Ints{0}}, {"ends", Ints{1}}};
  EXPECT_THAT(values<float>(run_node("slice", {x, vector(2), vector(4)}, attrs)), ElementsAre(2, 3));
  EXPECT_THAT(values<float>(run_node("slice", {x, Tensor(), Tensor(), vector(3)}, attrs)),
              ElementsAre(0, 1, 2))
      << "one item, an end";
  attrs["starts_items"] = 1;
  EXPECT_THAT(values<float>(run_node("slice", {x, vector(0), vector(0), vector(4), vector(6)}, attrs)),
              ElementsAre(4, 5))
      << "items override vectors";
}

TEST(RefShapeOps, Shape) {
  EXPECT_THAT(values<std::int32_t>(run_node("shape", {Tensor(DType::kInt8, {5, 0, 7})})),
              ElementsAre(5, 0, 7));
  EXPECT_EQ(run_node("shape", {Tensor::scalar(1.0f)}).size(), 0);
}

TEST(RefShapeOps, Full) {
  EXPECT_THAT(values<float>(run_node("full", {}, {{"shape", Ints{2, 2}}, {"value", 1.5}})),
              ElementsAre(1.5f, 1.5f, 1.5f, 1.5f));
  EXPECT_THAT(values<float>(run_node("full", {}, {{"value", 3.0}})), ElementsAre(3)) << "a scalar";
  EXPECT_EQ(run_node("full", {}, {{"shape", Ints{0}}}).size(), 0);
  Tensor shape = Tensor::of<std::int64_t>({1}, {2}), value = Tensor::of<float>({1}, {7}),
         three = Tensor::scalar<std::int32_t>(3);
  EXPECT_THAT(values<std::int32_t>(run_node("full", {shape, value}, {{"dtype", "int32"}})),
              ElementsAre(7, 7));
  EXPECT_THAT(
      values<std::int64_t>(run_node("full", {shape, Tensor(), three}, {{"dtype", "int64"}, {"value", -1.0}})),
      ElementsAre(-1, -1, -1));
  EXPECT_THAT(values<bool>(run_node("full", {}, {{"shape", Ints{1}}, {"dtype", "bool"}, {"value", 1.0}})),
              ElementsAre(true));
}

TEST(RefShapeOps, ReshapeFromInputs) {
  Tensor x = counting<float>({2, 6}), n = Tensor::scalar<std::int32_t>(3),
         open = Tensor::of<std::int32_t>({1}, {-1});
  EXPECT_EQ(run_node("reshape", {x, Tensor(), n, open}).shape(), (Shape{3, 4}));
  Tensor shape = Tensor::of<std::int64_t>({2}, {0, -1});
  EXPECT_EQ(run_node("reshape", {x, shape}, {{"shape", Ints{12}}}).shape(), (Shape{2, 6}));
  EXPECT_EQ(run_node("reshape", {x, shape, n, open}).shape(), (Shape{3, 4})) << "single numbers win";
}

TEST(RefShapeOps, SliceInSteps) {
  Tensor x = counting<float>({6});
  auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return values<float>(
        run_node("slice", {x},
                 {{"axes", Ints{0}}, {"starts", Ints{start}}, {"ends", Ints{end}}, {"steps", Ints{step}}}));
  };
  EXPECT_THAT(slice(0, INT64_MAX, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(slice(1, 5, 3), ElementsAre(1, 4));
  EXPECT_THAT(slice(-1, INT64_MIN, -1), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(slice(4, 0, -2), ElementsAre(4, 2));
  EXPECT_THAT(slice(100, -100, -4), ElementsAre(5, 1));
  EXPECT_THAT(slice(0, 3, -1), ElementsAre());
  EXPECT_THROW(slice(0, 3, 0), Error);
}

TEST(RefShapeOps, Range) {
  auto ints = [](std::int32_t start, std::int32_t limit, std::int32_t step) {
    return values<std::int32_t>(
        run_node("range", {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(step)}));
  };
  EXPECT_THAT(ints(0, 7, 3), ElementsAre(0, 3, 6));
  EXPECT_THAT(ints(10, 6, -2), ElementsAre(10, 8));
  EXPECT_THAT(ints(0, 0, 1), ElementsAre());
  EXPECT_THAT(ints(3, 0, 1), ElementsAre());
  EXPECT_THAT(ints(INT32_MIN, INT32_MAX, INT32_MAX), ElementsAre(INT32_MIN, -1, INT32_MAX - 1));
  EXPECT_THROW(ints(0, 1, 0), Error);
  EXPECT_THROW(ints(INT32_MIN, INT32_MAX, 1), Error) << "4 billion numbers";
  Tensor y = run_node("range", {Tensor::scalar(1.0f), Tensor::scalar(2.1f), Tensor::scalar(0.5f)});
  EXPECT_THAT(values<float>(y), ElementsAre(1, 1.5f, 2));
}

TEST(RefShapeOps, SplitUnevenlyAndByAnInput) {
  Tensor x = counting<float>({7});
  auto parts = run_node_multi("split", {x}, {{"num", 3}, {"uneven", true}}, 3);
  EXPECT_EQ(parts[0].size(), 3);
  EXPECT_THAT(values<float>(parts[2]), ElementsAre(6));
  auto given = run_node_multi("split", {x, Tensor(), Tensor::of<std::int64_t>({2}, {5, 2})}, {}, 2);
  EXPECT_THAT(values<float>(given[1]), ElementsAre(5, 6));
}

TEST(RefShapeOps, ZeroStrictAndReversed) {
  Tensor none(DType::kFloat32, {0, 3});
  EXPECT_EQ(run_node("reshape", {none}, {{"shape", Ints{3, 0}}, {"zero_copies", false}}).shape(),
            (Shape{3, 0}));
  Tensor x = counting<float>({1, 2, 3});
  EXPECT_EQ(run_node("squeeze", {x}, {{"axes", Ints{0}}, {"strict", true}}).shape(), (Shape{2, 3}));
  EXPECT_THROW(run_node("squeeze", {x}, {{"axes", Ints{1}}, {"strict", true}}), Error);
  EXPECT_EQ(run_node("transpose", {x}).shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(values<std::int64_t>(run_node("shape", {x}, {{"dtype", "int64"}})), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace octet
