#include "quant/output_error.h"

#include <algorithm>
#include <cstring>

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
    : sample_(sample), pool_(pool) {
  TensorRunner runner(floats, floats.outputs, pool);
  for (const auto& inputs : sample) {
    runner.run(inputs);
    std::map<ValueId, Tensor>& expected = expected_.emplace_back();
    for (ValueId id : floats.outputs) expected[id] = runner[id].clone();
  }
}

double OutputError::of(const Graph& quantized) const {
  TensorRunner runner(quantized, quantized.outputs, pool_);
  double error = 0;
  for (std::size_t part = 0; part < sample_.size(); ++part) {
    runner.run(sample_[part]);
    error += of_part(part, quantized.outputs, runner);
  }
  return error;
}

double OutputError::of_part(std::size_t part, const std::vector<ValueId>& outputs,
                            const TensorRunner& found) const {
  double error = 0;
  for (ValueId id : outputs) {
    const Tensor& expected = expected_[part].at(id);
    bool numbers = expected.dtype() == DType::kFloat32;
    error += numbers ? relative_error(found[id], expected) : different_share(found[id], expected);
  }
  return error;
}

}  // namespace octet::quant
