#include "metrics/agreement.h"

namespace octet {

void Agreement::add(const Tensor& expected, const Tensor& actual) {
  const Shape& shape = expected.shape();
  const std::size_t axis = shape.size() == 3 ? 2 : 1;
  if (shape.size() < 2 || expected.size() == 0 || shape[axis] < 2) return;
  const auto classes = static_cast<std::size_t>(shape[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto best = [&](std::span<const float> scores, std::size_t at) {
    std::size_t found = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (scores[at + c * inner] > scores[at + found * inner]) found = c;
    return found;
  };
  const std::span<const float> a = expected.data<float>(), b = actual.data<float>();
  for (std::size_t row = 0; row < a.size(); row += classes * inner)
    for (std::size_t at = row; at < row + inner; ++at) add(best(a, at) == best(b, at));
}

}  // namespace octet
