#include "quant/sample.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace octet::quant {

namespace {

std::int64_t pictures_in(const std::vector<Tensor>& inputs) {
  return inputs[0].rank() > 0 ? inputs[0].dim(0) : 1;
}

// Two pictures, for several threads find little to do in the last layers of a small one; or a large one.
std::int64_t part_size(const Tensor& batch) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 18;  // elements
  return batch.size() / batch.dim(0) > kLarge ? 1 : 2;
}

}  // namespace

std::int64_t pictures_in(const Sample& sample) {
  std::int64_t count = 0;
  for (const auto& part : sample) count += pictures_in(part);
  return count;
}

void add_to_sample(Sample* sample, const std::vector<Tensor>& inputs, std::int64_t limit) {
  std::int64_t have = pictures_in(*sample), count = pictures_in(inputs);
  bool can_cut = std::all_of(inputs.begin(), inputs.end(),
                             [&](const Tensor& t) { return t.rank() > 0 && t.dim(0) == count; });
  if (have >= limit) return;
  if (!can_cut) return sample->push_back(inputs);
  const std::int64_t most = part_size(inputs[0]);
  for (std::int64_t at = 0; at < count && have < limit; at += most) {
    std::int64_t size = std::min({most, count - at, limit - have});
    std::vector<Tensor> part;
    for (const Tensor& input : inputs) {
      Shape shape = input.shape();
      shape[0] = size;
      Tensor cut(input.dtype(), shape);
      std::size_t bytes = input.size_bytes() / static_cast<std::size_t>(count);
      std::span<const std::byte> from =
          input.bytes().subspan(static_cast<std::size_t>(at) * bytes, static_cast<std::size_t>(size) * bytes);
      std::copy(from.begin(), from.end(), cut.mutable_bytes().begin());
      part.push_back(std::move(cut));
    }
    sample->push_back(std::move(part));
    have += size;
  }
}

std::string sample_to_bytes(const Sample& sample, const std::vector<std::int64_t>& batches) {
  nlohmann::json parts = nlohmann::json::array();
  std::string values;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const Tensor& input : sample[i]) {
      shapes.push_back(input.shape());
      values.append(reinterpret_cast<const char*>(input.bytes().data()), input.size_bytes());
    }
    parts.push_back({{"batch", batches[i]}, {"shapes", std::move(shapes)}});
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
    for (const nlohmann::json& json : part.at("shapes")) {
      auto shape = json.get<Shape>();
      std::int64_t left = static_cast<std::int64_t>(bytes.size() / sizeof(float)), count = 1;
      for (std::int64_t dim : shape) {
        if (dim < 1 || dim > left / count) fail("it ends within the pictures");
        count *= dim;
      }
      Tensor tensor(DType::kFloat32, std::move(shape));
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
