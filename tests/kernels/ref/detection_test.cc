#include <gmock/gmock.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::run_node;
using testing::values;

Tensor counting(Shape shape, float next = 0) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = next++;
  return tensor;
}

TEST(RefDetection, NonMaxSuppression) {
  Tensor boxes = Tensor::of<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11, 1, 1, 0, 0});
  Tensor scores = Tensor::of<float>({1, 2, 4}, {0.9f, 0.75f, 0.6f, 0.9f, 0.1f, 0.2f, 0.3f, 0.05f});
  Tensor most = Tensor::scalar<std::int64_t>(3), overlap = Tensor::of<float>({1}, {0.5f}),
         low = Tensor::of<float>({1}, {0.15f});
  Tensor y = run_node("non_max_suppression", {boxes, scores, most, overlap, low});
  EXPECT_EQ(y.shape(), (Shape{4, 3}));
  EXPECT_THAT(values<std::int64_t>(y), ElementsAre(0, 0, 0, 0, 0, 2, 0, 1, 2, 0, 1, 1));
  EXPECT_EQ(run_node("non_max_suppression", {boxes, scores}).shape(), (Shape{0, 3})) << "of each class, none";
  Tensor one = Tensor::scalar<std::int64_t>(1);
  Tensor centered = run_node("non_max_suppression", {boxes, scores, one, overlap}, {{"centered", true}});
  EXPECT_EQ(centered.shape(), (Shape{2, 3}));
}

// Expected values are ONNX Runtime's.
TEST(RefDetection, RoiAlign) {
  Tensor x = counting({1, 1, 4, 4}), rois = Tensor::of<float>({2, 4}, {0, 0, 3, 3, 1, 1, 2.5f, 3}),
         images = Tensor::of<std::int64_t>({2}, {0, 0});
  Attrs attrs{{"out_h", 2}, {"out_w", 2}, {"sampling_ratio", 2}};
  EXPECT_THAT(values<float>(run_node("roi_align", {x, rois, images}, attrs)),
              Pointwise(FloatNear(1e-5f), {1.5625f, 3.0f, 7.3125f, 8.75f, 4.875f, 5.625f, 8.875f, 9.625f}));
  attrs["mode"] = "max";
  attrs["half_pixel"] = false;
  EXPECT_THAT(values<float>(run_node("roi_align", {x, rois, images}, attrs)),
              Pointwise(FloatNear(1e-5f), {3.828125f, 4.59375f, 7.109375f, 7.65625f, 5.484375f, 7.03125f,
                                           7.921875f, 9.84375f}));
  EXPECT_THAT(error_of([&] {
                run_node("roi_align", {x, rois, Tensor::of<std::int64_t>({2}, {0, 1})}, attrs);
              }),
              HasSubstr("there is no image 1"));
  Tensor huge = Tensor::of<float>({1, 4}, {0, 0, 1e30f, 1e30f}), first = Tensor::of<std::int64_t>({1}, {0});
  EXPECT_THAT(error_of([&] { run_node("roi_align", {x, huge, first}); }), HasSubstr("no sensible size"));
}

// Expected values are ONNX Runtime's.
TEST(RefDetection, GridSample) {
  Tensor x = counting({1, 1, 3, 3}, 1);
  Tensor grid = Tensor::of<float>({1, 1, 4, 2}, {-1, -1, 0, 0, 0.5f, -0.25f, 1.4f, 0.2f});
  struct Case {
    const char *mode, *padding;
    bool align;
    std::vector<float> expected;
  };
  const Case cases[] = {
      {"linear", "zeros", false, {0.25f, 5, 4.625f, 0}},
      {"linear", "zeros", true, {1, 5, 4.75f, 3.96f}},
      {"linear", "border", false, {1, 5, 4.625f, 6.9f}},
      {"linear", "reflection", false, {1, 5, 4.625f, 6.8f}},
      {"linear", "reflection", true, {1, 5, 4.75f, 6.2f}},
      {"nearest", "zeros", false, {1, 5, 6, 0}},
      {"nearest", "border", true, {1, 5, 6, 6}},
      {"cubic", "zeros", false, {0.0625f, 5, 5.0879765f, -0.46127486f}},
      {"cubic", "border", false, {0.625f, 5, 4.3979492f, 7.1677403f}},
      {"cubic", "reflection", true, {1, 5, 4.5859375f, 6.6800013f}},
  };
  for (const Case& c : cases)
    EXPECT_THAT(
        values<float>(run_node("grid_sample", {x, grid},
                               {{"mode", c.mode}, {"padding", c.padding}, {"align_corners", c.align}})),
        Pointwise(FloatNear(1e-5f), c.expected))
        << c.mode << " " << c.padding << " " << c.align;
  Tensor far = Tensor::of<float>({1, 1, 1, 2}, {1e38f, -1e38f});
  EXPECT_THAT(values<float>(run_node("grid_sample", {x, far}, {{"padding", "border"}})), ElementsAre(3));
  Tensor volume = counting({1, 1, 2, 2, 2}), centre = Tensor::of<float>({1, 1, 1, 1, 3}, {0, 0, 0});
  EXPECT_THAT(values<float>(run_node("grid_sample", {volume, centre})), ElementsAre(3.5f));
}

}  // namespace
}  // namespace octet
