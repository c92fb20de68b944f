#include "cli/batch_runner.h"

#include <gtest/gtest.h>

#include "support/small_models.h"

namespace octet::cli {
namespace {

using octet::testing::ramp;
using octet::testing::small_network;

// 3x8x8 to maps of 4 channels, which are no rows.
Graph maps() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  return b.build({b.conv2d(x, b.constant("w", ramp({4, 3, 3, 3})))});
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& one, const Tensor& other) {
    return one.shape() == other.shape() && std::ranges::equal(one.bytes(), other.bytes());
  });
}

TEST(BatchRunner, PartsGiveWhatTheWholeBatchGives) {
  for (const Graph& graph : {small_network(), maps()}) {
    const Model model(std::make_shared<const Graph>(graph));
    ThreadPool one(1);
    ModelRunner whole("model", model, Config(), one);
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      ModelRunner runner("model", model, Config(), pool);
      BatchRunner batches(runner, pool);
      batches.prepare(ramp({20, 3, 8, 8}));
      for (std::int64_t pictures : {20, 1, 2, 7, 33, 20}) {
        const Tensor pixels = ramp({pictures, 3, 8, 8}, static_cast<std::uint32_t>(pictures));
        EXPECT_TRUE(same_bits(batches.run(pixels), whole.run({pixels})))
            << pictures << " pictures, " << threads << " threads";
      }
      EXPECT_GT(batches.peak_bytes(), 0u);
    }
  }
}

}  // namespace
}  // namespace octet::cli
