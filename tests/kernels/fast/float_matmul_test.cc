#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::random_floats;

// With y as a constant and as an activation.
void expect_matmul(const Shape& x, const Shape& y, const Attrs& attrs, const char* op = "matmul") {
  for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{1}, std::vector<std::size_t>{}})
    expect_as_reference(op, "gemm", {random_floats(x, 1), random_floats(y, 2)}, attrs, constants);
}

TEST(FastMatmul, Sizes) {
  for (std::int64_t rows : {1, 2, 5, 13, 70})
    for (std::int64_t inner : {1, 3, 16, 37})
      for (std::int64_t columns : {1, 8, 15, 24, 41, 200}) {
        expect_matmul({rows, inner}, {inner, columns}, {});
        expect_matmul({rows, inner}, {inner, columns}, {}, "matmul_flat");
      }
  expect_matmul({300, 64}, {64, 100}, {});
  expect_matmul({1, 1280}, {1280, 1000}, {});
}

TEST(FastMatmul, Transposes) {
  for (bool x : {false, true})
    for (bool y : {false, true})
      for (double alpha : {1.0, 0.25, 0.3})
        expect_matmul(x ? Shape{2, 9, 5} : Shape{2, 5, 9}, y ? Shape{2, 19, 9} : Shape{2, 9, 19},
                      {{"transpose_x", x}, {"transpose_y", y}, {"alpha", alpha}});
}

TEST(FastMatmul, Batches) {
  expect_matmul({2, 3, 5, 7}, {7, 9}, {});
  expect_matmul({2, 3, 5, 7}, {2, 3, 7, 9}, {});
  expect_matmul({2, 1, 5, 7}, {3, 7, 9}, {});
  expect_matmul({5, 7}, {2, 3, 7, 9}, {});
  expect_matmul({1, 3, 5, 7}, {2, 1, 7, 9}, {});
  expect_matmul({3, 7, 5}, {1, 7, 9}, {{"transpose_x", true}});
  expect_matmul({7}, {2, 7, 9}, {});
  expect_matmul({2, 5, 7}, {7}, {});
  expect_matmul({7}, {7}, {});
}

TEST(FastMatmul, Flat) {
  expect_matmul({2, 3, 4, 5}, {20, 6}, {{"x_num_col_dims", std::int64_t{2}}}, "matmul_flat");
  expect_matmul({6, 12}, {3, 4, 2, 5}, {{"y_num_col_dims", std::int64_t{2}}}, "matmul_flat");
}

TEST(FastMatmul, Epilogues) {
  for (const char* op : {"matmul", "matmul_flat"})
    for (const char* activation : {"", "relu", "swish"})
      for (bool constant : {false, true})
        for (int outputs : {0, 1, 2}) {
          Tensor scale = outputs > 0 ? Tensor::of<float>({1}, {2.5f}) : Tensor();
          std::vector<std::size_t> constants = {2, 3};
          if (constant) constants.push_back(1);
          expect_as_reference(op, "gemm",
                              {random_floats({9, 20}, 1), random_floats({20, 27}, 2), random_floats({27}, 3),
                               scale, random_floats({9, 27}, 4)},
                              {{"activation", std::string(activation)}}, constants, 0, std::max(outputs, 1));
        }
  // A bias that is no constant.
  expect_as_reference("matmul", "ref",
                      {random_floats({9, 20}, 1), random_floats({20, 27}, 2), random_floats({27}, 3)}, {},
                      {1});
  // A residual or a left side that is one.
  expect_as_reference("matmul", "gemm",
                      {random_floats({99, 20}, 1), random_floats({20, 27}, 2), random_floats({27}, 3),
                       Tensor(), random_floats({99, 27}, 4)},
                      {}, {1, 2, 4});
  expect_as_reference("matmul", "gemm", {random_floats({99, 20}, 1), random_floats({20, 27}, 2)}, {}, {0});
}

}  // namespace
}  // namespace octet
