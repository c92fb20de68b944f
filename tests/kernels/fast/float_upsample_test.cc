#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::Ints;
using testing::random_floats;

TEST(FastUpsample, GivesTheBitsOfTheReference) {
  for (std::int64_t out : {1, 3, 8})
    for (auto [h, w] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {1, 3}, {4, 2}})
      for (const char* activation : {"", "sigmoid", "relu"})
        for (bool with_bias : {false, true}) {
          Tensor x = random_floats({2, 5, 3, 7}, 1), weight = random_floats({5, out, h, w}, 2);
          Tensor bias = with_bias ? random_floats({out}, 3) : Tensor();
          expect_as_reference("conv2d_transpose", "upsample", {x, weight, bias},
                              {{"strides", Ints{h, w}}, {"activation", std::string(activation)}}, {1, 2});
        }
}

}  // namespace
}  // namespace octet
