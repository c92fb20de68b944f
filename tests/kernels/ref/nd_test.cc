#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;
using testing::run_node;
using testing::run_node_multi;
using testing::values;

Tensor counting(Shape shape, float next = 0) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

// Expected values are ONNX Runtime's.
TEST(RefNd, Pool) {
  Tensor x(DType::kFloat32, {1, 1, 2, 3, 3});
  for (std::size_t i = 0; i < 18; ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 7);
  EXPECT_THAT(values<float>(run_node("pool_nd", {x},
                                     {{"type", "avg"},
                                      {"kernel", Ints{2, 2, 2}},
                                      {"strides", Ints{1, 1, 2}},
                                      {"paddings", Ints{0, 0, 1, 0, 1, 1}},
                                      {"exclusive", false}})),
              ElementsAre(0.25f, 1.25f, 1.25f, 3.125f, 1.875f, 2.625f));
  Tensor image(DType::kFloat32, {1, 1, 5, 5});
  for (std::size_t i = 0; i < 25; ++i) image.mutable_data<float>()[i] = static_cast<float>(i * 7 % 11);
  Attrs dilated{{"kernel", Ints{2, 2}},
                {"dilations", Ints{3, 2}},
                {"strides", Ints{2, 2}},
                {"paddings", Ints{1, 0, 1, 0}},
                {"ceil_mode", true}};
  auto found = run_node_multi("pool_nd", {image}, dilated, 2);
  EXPECT_THAT(values<float>(found[0]), ElementsAre(0, 3, 3, 9, 9, 7));
  EXPECT_THAT(values<std::int64_t>(found[1]), ElementsAre(11, 13, 13, 6, 6, 23));
  dilated["column_major"] = true;
  EXPECT_THAT(values<std::int64_t>(run_node_multi("pool_nd", {image}, dilated, 2)[1]),
              ElementsAre(7, 17, 17, 6, 6, 19));
}

TEST(RefNd, PoolsBytesAndNorms) {
  Tensor bytes = Tensor::of<std::uint8_t>({1, 1, 3}, {5, 200, 7});
  EXPECT_THAT(values<std::uint8_t>(run_node("pool_nd", {bytes}, {{"kernel", Ints{2}}})),
              ElementsAre(200, 200));
  Tensor x = Tensor::of<float>({1, 1, 3}, {3, -4, 0});
  EXPECT_THAT(values<float>(run_node("pool_nd", {x}, {{"type", "lp"}, {"kernel", Ints{2}}})),
              ElementsAre(5, 4));
  EXPECT_THAT(error_of([&] {
                run_node("pool_nd", {x}, {{"kernel", Ints{2, 2}}});
              }),
              HasSubstr("kernel has 2 numbers, expected 1"));
  EXPECT_THAT(error_of([&] { run_node("pool_nd", {x}, {{"kernel", Ints{4}}}); }), HasSubstr("does not fit"));
}

TEST(RefNd, Convolve) {
  Tensor x = counting({1, 2, 4}), weight = Tensor::of<float>({2, 1, 3}, {1, 2, 3, -1, 0, 1}),
         bias = Tensor::of<float>({2}, {0.5f, -0.5f});
  EXPECT_THAT(values<float>(run_node("conv_nd", {x, weight, bias},
                                     {{"groups", 2}, {"paddings", Ints{2, 1}}, {"strides", Ints{2}}})),
              ElementsAre(0.5f, 8.5f, 8.5f, 3.5f, 1.5f, -6.5f));
  Tensor y = Tensor::of<float>({1, 1, 3}, {1, 2, 3}), kernel = Tensor::of<float>({1, 1, 3}, {1, 10, 100});
  EXPECT_THAT(
      values<float>(run_node("conv_nd_transpose", {y, kernel},
                             {{"strides", Ints{2}}, {"output_padding", Ints{1}}, {"paddings", Ints{1, 0}}})),
      ElementsAre(10, 102, 20, 203, 30, 300, 0));
  EXPECT_EQ(
      run_node("conv_nd_transpose", {y, kernel}, {{"strides", Ints{2}}, {"auto_pad", "same_upper"}}).shape(),
      (Shape{1, 1, 6}));
  EXPECT_EQ(
      run_node("conv_nd_transpose", {y, kernel}, {{"strides", Ints{2}}, {"output_size", Ints{5}}}).shape(),
      (Shape{1, 1, 5}));
  EXPECT_THAT(error_of([&] { run_node("conv_nd", {x, weight}); }), HasSubstr("does not fit groups 1"));
}

TEST(RefNd, AsTheOpsOfTwoDimensions) {
  Tensor x = counting({2, 4, 6, 5}, -60), weight = counting({6, 2, 3, 2}, -20), bias = counting({6});
  Attrs attrs{
      {"groups", 2}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"paddings", Ints{1, 0, 2, 1}}};
  EXPECT_EQ(values<float>(run_node("conv_nd", {x, weight, bias}, attrs)),
            values<float>(run_node("conv2d", {x, weight, bias}, attrs)));
  Tensor back = counting({4, 3, 3, 2}, -20), three = counting({6});
  EXPECT_EQ(values<float>(run_node("conv_nd_transpose", {x, back, three}, attrs)),
            values<float>(run_node("conv2d_transpose", {x, back, three}, attrs)));
}

}  // namespace
}  // namespace octet
