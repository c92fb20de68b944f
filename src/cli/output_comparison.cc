#include "cli/output_comparison.h"

#include "base/error.h"
#include "cli/tensors.h"

namespace octet::cli {

namespace {

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

// N x C, N x C x H x W, or N x T x C.
std::size_t class_axis(const Tensor& output) {
  return output.rank() == 3 ? 2 : 1;
}

// Calls use(a, b) with the best class of both, for every place.
template <class Use>
void for_each_decision(const Tensor& expected, const Tensor& actual, const Use& use) {
  const std::size_t axis = class_axis(expected);
  std::size_t outer = 1, inner = 1;
  const auto classes = static_cast<std::size_t>(expected.shape()[axis]);
  for (std::size_t i = 0; i < expected.shape().size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<std::size_t>(expected.shape()[i]);
  const std::span<const float> a = expected.data<float>(), b = actual.data<float>();
  const auto best = [&](std::span<const float> values, std::size_t at) {
    std::size_t found = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (values[at + c * inner] > values[at + found * inner]) found = c;
    return found;
  };
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      const std::size_t at = o * classes * inner + i;
      use(best(a, at), best(b, at));
    }
}

void add_to(OutputRow& row, const Tensor& expected, const Tensor& actual) {
  const Tensor a = expected.cast(DType::kFloat32), b = actual.cast(DType::kFloat32);
  row.numbers.add(a.data<float>(), b.data<float>());
  const auto count = [&](auto x, auto y) {
    ++row.decisions;
    row.agreed += x == y;
  };
  if (!is_float(expected.dtype())) {
    for (std::size_t i = 0; i < a.data<float>().size(); ++i) count(a.data<float>()[i], b.data<float>()[i]);
  } else if (a.rank() >= 2 && a.size() > 0 && a.shape()[class_axis(a)] > 1) {
    for_each_decision(a, b, count);
  }
}

}  // namespace

void OutputComparison::add(const std::vector<std::string>& names, const std::vector<Tensor>& expected,
                           const std::vector<Tensor>& actual) {
  if (expected.size() != actual.size())
    fail("the model has {} outputs, and the baseline {}", actual.size(), expected.size());
  if (rows_.empty())
    for (const std::string& name : names) rows_.push_back({.name = name});
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (expected[i].shape() != actual[i].shape())
      fail("output {} of the model is {}, and that of the baseline {}", names[i],
           describe(actual[i].dtype(), actual[i].shape()),
           describe(expected[i].dtype(), expected[i].shape()));
    add_to(rows_[i], expected[i], actual[i]);
  }
}

}  // namespace octet::cli
