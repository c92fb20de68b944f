#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::Ints;
using testing::random_floats;

TEST(FastConvTranspose, Windows) {
  for (std::int64_t groups : {1, 2})
    for (std::int64_t columns : {3, 8, 20})
      for (const Ints& strides : {Ints{1, 1}, Ints{2, 2}, Ints{3, 2}, Ints{5, 4}})
        for (const Ints& dilations : {Ints{1, 1}, Ints{2, 3}})
          for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 0}})
            for (Shape kernel : {Shape{2, 2}, Shape{3, 3}, Shape{4, 1}}) {
              // Windows that lie side by side, with few output channels, have a kernel of their own.
              bool tiles = strides == kernel && dilations == Ints{1, 1} && pads == Ints{0, 0, 0, 0};
              const char* name = tiles && groups == 1 && columns <= 8 ? "upsample" : "gemm";
              expect_as_reference(
                  "conv2d_transpose", name,
                  {random_floats({2, 6 * groups, 5, 7}, 1),
                   random_floats({6 * groups, columns, kernel[0], kernel[1]}, 2),
                   random_floats({columns * groups}, 3)},
                  {{"strides", strides}, {"dilations", dilations}, {"paddings", pads}, {"groups", groups}},
                  {1, 2});
            }
}

TEST(FastConvTranspose, OutputSizes) {
  for (const Ints& extra : {Ints{1, 1}, Ints{0, 1}})
    expect_as_reference(
        "conv2d_transpose", "gemm", {random_floats({1, 5, 4, 4}, 1), random_floats({5, 9, 3, 3}, 2)},
        {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}, {"output_padding", extra}}, {1});
  expect_as_reference("conv2d_transpose", "gemm",
                      {random_floats({1, 5, 4, 4}, 1), random_floats({5, 9, 2, 2}, 2)},
                      {{"strides", Ints{3, 3}}, {"output_size", Ints{13, 12}}}, {1});
}

TEST(FastConvTranspose, Epilogues) {
  for (const char* activation : {"", "relu", "sigmoid"})
    for (int outputs : {0, 1, 2}) {
      Tensor scale = outputs > 0 ? Tensor::of<float>({1}, {2.5f}) : Tensor();
      expect_as_reference("conv2d_transpose", "gemm",
                          {random_floats({1, 5, 6, 4}, 1), random_floats({5, 9, 2, 2}, 2),
                           random_floats({9}, 3), scale, random_floats({1, 9, 12, 8}, 4)},
                          {{"strides", Ints{2, 2}}, {"activation", std::string(activation)}}, {1, 2, 3}, 0,
                          std::max(outputs, 1));
    }
}

}  // namespace
}  // namespace octet
