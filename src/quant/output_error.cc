#include "quant/output_error.h"

#include <algorithm>
#include <cstring>

#include "passes/uses.h"

namespace octet::quant {

namespace {

// The share of elements that are not the same.
double different_share(const Tensor& a, const Tensor& b) {
  if (a.empty() || a.size_bytes() != b.size_bytes()) return 1;
  const std::byte *x = a.bytes().data(), *y = b.bytes().data();
  std::size_t size = a.size_bytes() / static_cast<std::size_t>(a.size()), different = 0;
  for (std::size_t at = 0; at < a.size_bytes(); at += size)
    different += std::memcmp(x + at, y + at, size) != 0;
  return static_cast<double>(different) / static_cast<double>(a.size());
}

}  // namespace

std::vector<ValueId> score_tensors(const Graph& graph) {
  constexpr std::string_view kChoose[] = {"softmax", "arg_max"};
  constexpr std::string_view kMove[] = {"reshape", "transpose", "squeeze", "unsqueeze", "cast", "assign"};
  const auto is_one_of = [](std::span<const std::string_view> names, const std::string& op) {
    return std::ranges::find(names, op) != names.end();
  };
  const Uses uses(graph);
  std::vector<ValueId> result;
  for (ValueId output : graph.outputs) {
    ValueId found = output;
    for (ValueId id = output;;) {
      const int i = uses.producer(id);
      const std::string op = i < 0 ? "" : graph.nodes[static_cast<std::size_t>(i)].op;
      const bool chooses = is_one_of(kChoose, op);
      if (!chooses && !is_one_of(kMove, op)) break;
      id = graph.nodes[static_cast<std::size_t>(i)].inputs[0];
      if (chooses) found = id;
    }
    if (std::ranges::find(result, found) == result.end()) result.push_back(found);
  }
  return result;
}

double relative_error(const Tensor& found, const Tensor& expected) {
  auto x = found.data<float>(), y = expected.data<float>();
  auto samples =
      static_cast<std::size_t>(expected.rank() > 0 ? std::max<std::int64_t>(expected.dim(0), 1) : 1);
  std::size_t size = y.size() / samples;
  double result = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    double noise = 0, power = 1e-30;
    for (std::size_t at = s * size; at < (s + 1) * size; at += 1024) {
      float n = 0, p = 0;
      for (std::size_t i = at; i < std::min(at + 1024, (s + 1) * size); ++i) {
        n += (x[i] - y[i]) * (x[i] - y[i]);
        p += y[i] * y[i];
      }
      noise += static_cast<double>(n), power += static_cast<double>(p);
    }
    result += noise / power;
  }
  return result;
}

OutputError::OutputError(const Graph& floats, const CalibrationSample& sample, ThreadPool& pool)
    : sample_(sample), pool_(pool), tensors_(score_tensors(floats)) {
  TensorRunner runner(floats, tensors_, pool);
  for (const auto& inputs : sample) {
    runner.run(inputs);
    std::map<ValueId, Tensor>& expected = expected_.emplace_back();
    for (ValueId id : tensors_) expected[id] = runner[id].clone();
  }
}

double OutputError::of(const Graph& quantized) const {
  TensorRunner runner(quantized, tensors_, pool_);
  double error = 0;
  for (std::size_t part = 0; part < sample_.size(); ++part) {
    runner.run(sample_[part]);
    error += of_part(part, tensors_, runner);
  }
  return error;
}

double OutputError::of_part(std::size_t part, const std::vector<ValueId>& tensors,
                            const TensorRunner& found) const {
  double error = 0;
  for (ValueId id : tensors) {
    const Tensor& expected = expected_[part].at(id);
    bool numbers = expected.dtype() == DType::kFloat32;
    error += numbers ? relative_error(found[id], expected) : different_share(found[id], expected);
  }
  return error;
}

}  // namespace octet::quant
