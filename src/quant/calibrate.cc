#include "quant/calibrate.h"

#include "base/error.h"
#include "base/file.h"
#include "runtime/executor.h"

namespace octet::quant {

void Calibration::merge(const Calibration& other) {
  for (const auto& [name, statistics] : other.tensors) tensors[name].merge(statistics);
  batches += other.batches;
  samples += other.samples;
}

void Calibration::save(const std::string& path) const {
  nlohmann::json json = {
      {"format", "octet calibration"}, {"version", 1}, {"batches", batches}, {"samples", samples}};
  for (const auto& [name, statistics] : tensors) json["tensors"][name] = statistics.to_json();
  AtomicFiles file;
  file.begin(path);
  file.write(json.dump());
  file.commit();
}

Calibration Calibration::load(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  std::string text = read_text(path, kMaxBytes);
  Calibration result;
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("format") != "octet calibration" || json.at("version") != 1) fail("it is of another kind");
    for (const auto& [name, statistics] : json.at("tensors").items())
      result.tensors[name] = TensorStatistics::from_json(statistics);
    result.batches = json.at("batches").get<std::int64_t>();
    result.samples = json.at("samples").get<std::int64_t>();
  } catch (const std::exception& error) {
    fail("{}: not a file that --save_stats of this version of octet wrote ({})", path,
         printable(error.what()));
  }
  return result;
}

namespace {

class Watcher {
 public:
  Watcher(const Graph& graph, const std::set<ValueId>& tensors, ThreadPool& pool)
      : names_(graph.values.size()), pool_(pool) {
    for (ValueId id : tensors) names_[static_cast<std::size_t>(id)] = graph.value(id).name;
    executable_ = prepare(graph, {.observed = {tensors.begin(), tensors.end()}});
    session_ = std::make_unique<Session>(executable_, pool);
  }

  // Calls see(name, values, samples) for each watched tensor.
  template <class See>
  void run(const std::vector<Tensor>& inputs, const See& see) {
    session_->run(inputs, nullptr, [&](ValueId id, const Tensor& tensor) {
      auto at = static_cast<std::size_t>(id);
      if (at >= names_.size() || names_[at].empty() || tensor.dtype() != DType::kFloat32) return;
      see(names_[at], tensor.data<float>(), tensor.rank() > 0 ? tensor.dim(0) : 1);
    });
  }

 private:
  std::vector<std::string> names_;
  ThreadPool& pool_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
};

}  // namespace

Calibration calibrate(const Graph& graph, const std::set<ValueId>& tensors, const Batches& batches,
                      const CalibrateOptions& options, ThreadPool& pool) {
  Watcher watcher(graph, tensors, pool);
  Calibration result;
  Wanted wanted = options.wanted;
  wanted.histogram = wanted.histogram && !options.two_pass;
  std::vector<Tensor> inputs;
  auto more = [&](std::int64_t batch) {
    return (options.batch_num == 0 || batch < options.batch_num) && batches(batch, &inputs);
  };
  for (std::int64_t batch = 0; more(batch); ++batch) {
    watcher.run(inputs, [&](const std::string& name, std::span<const float> values, std::int64_t samples) {
      result.tensors[name].update(batch, values, samples, wanted, pool);
    });
    ++result.batches;
    result.samples += inputs[0].rank() > 0 ? inputs[0].dim(0) : 1;
    if (options.progress) options.progress(result.batches);
  }
  if (!options.two_pass || !options.wanted.histogram) return result;
  for (const auto& [name, statistics] : result.tensors)
    result.exact[name] = {static_cast<double>(statistics.abs_min), static_cast<double>(statistics.abs_max),
                          std::vector<double>(kCoarseBins)};
  for (std::int64_t batch = 0; more(batch); ++batch) {
    watcher.run(inputs, [&](const std::string& name, std::span<const float> values, std::int64_t) {
      add_to(result.exact[name], values);
    });
    if (options.progress) options.progress(batch + 1);
  }
  return result;
}

}  // namespace octet::quant
