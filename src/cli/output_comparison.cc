#include "cli/output_comparison.h"

#include "base/error.h"
#include "cli/tensors.h"

namespace octet::cli {

namespace {

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

void add_to(OutputRow& row, const Tensor& expected, const Tensor& actual) {
  const Tensor a = expected.cast(DType::kFloat32), b = actual.cast(DType::kFloat32);
  row.numbers.add(a.data<float>(), b.data<float>());
  if (is_float(expected.dtype())) return row.agreement.add(a, b);
  for (std::size_t i = 0; i < a.data<float>().size(); ++i)
    row.agreement.add(a.data<float>()[i] == b.data<float>()[i]);
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
