#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::random_floats;
using testing::run_node;
using testing::values;

TEST(Matmul, IsTheSumInItsOrderToTheBit) {
  std::int64_t rows = 19, inner = 37, columns = 600;
  for (bool transpose_x : {false, true})
    for (bool transpose_y : {false, true}) {
      Tensor x = random_floats(transpose_x ? Shape{inner, rows} : Shape{rows, inner}, 1);
      Tensor y = random_floats(transpose_y ? Shape{columns, inner} : Shape{inner, columns}, 2);
      auto xs = x.data<float>(), ys = y.data<float>();
      std::vector<float> expected;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            sum = std::fma(xs[static_cast<std::size_t>(transpose_x ? k * rows + i : i * inner + k)],
                           ys[static_cast<std::size_t>(transpose_y ? j * inner + k : k * columns + j)], sum);
          expected.push_back(sum * 0.5f);
        }
      Attrs attrs = {{"transpose_x", transpose_x}, {"transpose_y", transpose_y}, {"alpha", 0.5}};
      for (int threads : {1, 3})
        ASSERT_EQ(values<float>(run_node("matmul", {x, y}, attrs, threads)), expected);
    }
}

TEST(Matmul, BroadcastsTheBatch) {
  Tensor x = Tensor::of<float>({2, 1, 1, 2}, {1, 2, 3, 4});
  Tensor y = Tensor::of<float>({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  Tensor z = run_node("matmul", {x, y});
  EXPECT_EQ(z.shape(), (Shape{2, 3, 1, 1}));
  EXPECT_THAT(values<float>(z), ElementsAre(21, 42, 63, 43, 86, 129));
}

TEST(Matmul, TakesVectorsAsNumpyDoes) {
  Tensor v = Tensor::of<float>({2}, {1, 10}), m = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor dot = run_node("matmul", {v, v});
  EXPECT_EQ(dot.shape(), Shape{});
  EXPECT_THAT(values<float>(dot), ElementsAre(101));
  EXPECT_THAT(values<float>(run_node("matmul", {v, m})), ElementsAre(41, 52, 63));
  Tensor w = Tensor::of<float>({3}, {1, 10, 100});
  Tensor mw = run_node("matmul", {m, w}, {{"transpose_y", true}});
  EXPECT_EQ(mw.shape(), Shape{2});
  EXPECT_THAT(values<float>(mw), ElementsAre(321, 654));
}

TEST(Matmul, AnEmptySumIsZero) {
  Tensor z = run_node("matmul", {Tensor(DType::kFloat32, {2, 0}), Tensor(DType::kFloat32, {0, 2})});
  EXPECT_THAT(values<float>(z), ElementsAre(0, 0, 0, 0));
}

TEST(MatmulFlat, JoinsDimensions) {
  Tensor x = Tensor::of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor y = Tensor::of<float>({2, 2, 1, 2}, {1, 0, 10, 0, 100, 0, 1000, 1});
  Tensor z = run_node("matmul_flat", {x, y}, {{"y_num_col_dims", std::int64_t{2}}});
  EXPECT_EQ(z.shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(values<float>(z), ElementsAre(4321, 4, 8765, 8));
}

}  // namespace
}  // namespace octet
