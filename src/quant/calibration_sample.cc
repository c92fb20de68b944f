#include "quant/calibration_sample.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "quant/window.h"

namespace octet::quant {

namespace {

// Two pictures, for several threads find little to do in the last layers of a small one; or a large one.
std::int64_t part_size(const Tensor& batch) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 18;  // elements
  return batch.size() / batch.dim(0) > kLarge ? 1 : 2;
}

}  // namespace

std::int64_t pictures_in(const std::vector<Tensor>& inputs) {
  return inputs[0].rank() > 0 ? inputs[0].dim(0) : 1;
}

bool can_cut(const std::vector<Tensor>& inputs) {
  const std::int64_t pictures = pictures_in(inputs);
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& t) { return t.rank() > 0 && t.dim(0) == pictures; });
}

Tensor cut(const Tensor& batch, std::int64_t first, std::int64_t count) {
  Shape shape = batch.shape();
  const std::size_t bytes = batch.size_bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  Tensor part(batch.dtype(), shape);
  std::span<const std::byte> from =
      batch.bytes().subspan(static_cast<std::size_t>(first) * bytes, static_cast<std::size_t>(count) * bytes);
  std::copy(from.begin(), from.end(), part.mutable_bytes().begin());
  return part;
}

std::int64_t pictures_in(const CalibrationSample& sample) {
  std::int64_t count = 0;
  for (const auto& part : sample) count += pictures_in(part);
  return count;
}

CalibrationSample first_of(const CalibrationSample& sample, std::int64_t pictures) {
  CalibrationSample first;
  for (std::size_t i = 0; i < sample.size() && pictures_in(first) < pictures; ++i) first.push_back(sample[i]);
  return first;
}

void SampleCollector::add(std::int64_t batch, const std::vector<Tensor>& inputs) {
  std::int64_t have = pictures_in(sample_), count = pictures_in(inputs);
  if (have >= limit_) return;
  const bool is_cut = can_cut(inputs);
  const std::int64_t most = is_cut ? part_size(inputs[0]) : count;
  for (std::int64_t at = 0; at < count && have < limit_; at += most) {
    const std::int64_t size = is_cut ? std::min({most, count - at, limit_ - have}) : count;
    std::vector<Tensor> part;
    for (const Tensor& input : inputs) {
      part.push_back(is_cut ? cut(input, at, size) : input);
      if (window_ > 0) part.back() = window_of(part.back(), window_, batch + at);
    }
    sample_.push_back(std::move(part));
    batches_.push_back(batch);
    have += size;
  }
}

CalibrationSample SampleCollector::gather(Comm& comm) const {
  if (comm.size() == 1) return sample_;
  std::vector<std::pair<std::int64_t, std::vector<Tensor>>> parts;
  for (const std::string& bytes : comm.gather(sample_to_bytes(sample_, batches_)))
    for (auto& part : sample_from_bytes(bytes)) parts.push_back(std::move(part));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  SampleCollector all(limit_);
  for (const auto& [index, inputs] : parts) all.add(index, inputs);
  CalibrationSample result;
  for (auto& part : sample_from_bytes(comm.broadcast(sample_to_bytes(all.sample_, all.batches_))))
    result.push_back(std::move(part.second));
  return result;
}

std::string sample_to_bytes(const CalibrationSample& sample, const std::vector<std::int64_t>& batches) {
  nlohmann::json parts = nlohmann::json::array();
  std::string values;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    nlohmann::json shapes = nlohmann::json::array(), types = nlohmann::json::array();
    for (const Tensor& input : sample[i]) {
      shapes.push_back(input.shape());
      types.push_back(name_of(input.dtype()));
      values.append(reinterpret_cast<const char*>(input.bytes().data()), input.size_bytes());
    }
    parts.push_back({{"batch", batches[i]}, {"shapes", std::move(shapes)}, {"types", std::move(types)}});
  }
  return parts.dump() + '\n' + values;
}

std::vector<std::pair<std::int64_t, std::vector<Tensor>>> sample_from_bytes(std::string_view bytes) {
  std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) fail("the pictures are missing");
  nlohmann::json parts = nlohmann::json::parse(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  std::vector<std::pair<std::int64_t, std::vector<Tensor>>> result;
  for (const nlohmann::json& part : parts) {
    std::vector<Tensor> inputs;
    // Files of before have float32 only, and don't say it.
    const auto types = part.value(
        "types", std::vector<std::string>(part.at("shapes").size(), std::string(name_of(DType::kFloat32))));
    for (const nlohmann::json& json : part.at("shapes")) {
      auto shape = json.get<Shape>();
      DType dtype = DType::kFloat32;
      if (inputs.size() >= types.size() || !parse_dtype(types[inputs.size()], &dtype) ||
          dtype == DType::kBool)
        fail("an array's type is wrong");
      std::int64_t left = static_cast<std::int64_t>(bytes.size() / size_of(dtype)), count = 1;
      for (std::int64_t dim : shape) {
        if (dim < 1 || dim > left / count) fail("it ends within the pictures");
        count *= dim;
      }
      Tensor tensor(dtype, std::move(shape));
      std::memcpy(tensor.mutable_bytes().data(), bytes.data(), tensor.size_bytes());
      bytes.remove_prefix(tensor.size_bytes());
      inputs.push_back(std::move(tensor));
    }
    if (inputs.empty()) fail("a picture is missing");
    result.emplace_back(part.at("batch").get<std::int64_t>(), std::move(inputs));
  }
  if (!bytes.empty()) fail("there is more behind the pictures");
  return result;
}

}  // namespace octet::quant
