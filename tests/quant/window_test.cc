#include "quant/window.h"

#include <gmock/gmock.h>

#include <set>

#include "graph/builder.h"
#include "quant/calibration_sample.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using namespace octet::testing;

TEST(Window, IsAPartOfThePictureWithItsShape) {
  const Tensor picture = ramp({1, 2, 128, 256}, 1);
  const Tensor window = window_of(picture, 64 * 128, 3);
  EXPECT_EQ(window.shape(), (Shape{1, 2, 64, 128}));
  const auto all = picture.data<float>(), part = window.data<float>();
  const auto begin = std::search(all.begin(), all.end(), part.begin(), part.begin() + 128);
  ASSERT_NE(begin, all.end());
  const std::ptrdiff_t first = begin - all.begin();
  for (std::ptrdiff_t c = 0; c < 2; ++c)
    for (std::ptrdiff_t y = 0; y < 64; ++y)
      EXPECT_TRUE(std::equal(part.begin() + (c * 64 + y) * 128, part.begin() + (c * 64 + y + 1) * 128,
                             all.begin() + first + (c * 128 + y) * 256));
}

TEST(Window, LiesElsewhereInEachPicture) {
  const Tensor picture = ramp({1, 1, 128, 256}, 1);
  std::set<float> corners;
  for (std::int64_t number = 0; number < 32; ++number)
    corners.insert(window_of(picture, 64 * 64, number).data<float>()[0]);
  EXPECT_EQ(corners.size(), 32u);
}

TEST(Window, LeavesWhatIsSmall) {
  const Tensor picture = ramp({1, 1, 40, 50}, 1);
  EXPECT_EQ(window_of(picture, 2000, 7).bytes().data(), picture.bytes().data());
  EXPECT_EQ(window_of(picture, 1, 7).shape(), (Shape{1, 1, 32, 32}));
  const Tensor flat = ramp({4, 5}, 1);
  EXPECT_EQ(window_of(flat, 1, 7).bytes().data(), flat.bytes().data());
}

TEST(Window, IsAsLargeAsTheTensorsOfARunAllow) {
  const auto pixels = [](const Shape& shape) {
    Builder builder;
    ValueId x = builder.input("x", shape);
    for (int i = 0; i < 10; ++i) x = builder.relu(x);
    Graph graph = builder.build({x});
    return window_pixels(graph);
  };
  EXPECT_EQ(pixels({kUnknown, 8, kUnknown, kUnknown}),
            static_cast<std::int64_t>(kWindowBytes / (10 * 8 * 4)));
  EXPECT_EQ(pixels({kUnknown, 8, 64, 64}), 0);
  EXPECT_EQ(pixels({kUnknown, 8}), 0);
}

// Which pictures the parts are of does not depend on the number of processes.
TEST(Window, GoesByTheNumberOfThePicture) {
  SampleCollector both(2, 64 * 64), second(1, 64 * 64);
  const Tensor picture = ramp({1, 1, 128, 128}, 1);
  both.add(0, {picture});
  both.add(1, {picture});
  second.add(1, {picture});
  EXPECT_EQ(values<float>(both.gather(*alone())[1][0]), values<float>(second.gather(*alone())[0][0]));
  EXPECT_NE(values<float>(both.gather(*alone())[1][0]), values<float>(both.gather(*alone())[0][0]));
}

}  // namespace
}  // namespace octet::quant
