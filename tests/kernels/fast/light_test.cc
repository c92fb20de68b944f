#include "kernels/ref/random.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::random_floats;

TEST(FastActivation, GivesTheBitsOfTheReference) {
  for (const char* op : {"relu", "relu6", "hard_swish", "hard_sigmoid", "swish", "sigmoid", "leaky_relu"})
    for (std::int64_t size : {1, 7, 8, 17, 40000})
      expect_as_reference(op, {random_floats({size}, 3, -8, 8)}, {}, {});
}

}  // namespace
}  // namespace octet
