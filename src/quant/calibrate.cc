#include "quant/calibrate.h"

#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "runtime/executor.h"

namespace octet::quant {

constexpr const char* kFormat = "octet calibration 3";
constexpr const char* kOlderFormat = "octet calibration 2";  // nothing held out, no preprocessing
constexpr std::int64_t kHeldOut = -1;                        // in place of a batch

NLOHMANN_JSON_SERIALIZE_ENUM(Equalization, {{Equalization::kNone, "none"},
                                            {Equalization::kAll, "all"},
                                            {Equalization::kOutliers, "outliers"}})

void Calibration::merge(const Calibration& other) {
  for (const auto& [name, statistics] : other.tensors) tensors[name].merge(statistics);
  batches += other.batches;
  pictures += other.pictures;
}

nlohmann::json Calibration::to_json() const {
  nlohmann::json json = {{"batches", batches}, {"samples", pictures}, {"tensors", nlohmann::json::object()}};
  for (const auto& [name, statistics] : tensors) json["tensors"][name] = statistics.to_json();
  return json;
}

Calibration Calibration::from_json(const nlohmann::json& json) {
  Calibration result;
  for (const auto& [name, statistics] : json.at("tensors").items())
    result.tensors[name] = TensorStatistics::from_json(statistics);
  result.batches = json.at("batches").get<std::int64_t>();
  result.pictures = json.at("samples").get<std::int64_t>();
  return result;
}

void KeptStatistics::save(const std::string& path) const {
  nlohmann::json json = calibration.to_json();
  json.update({{"format", kFormat},
               {"bits", bits},
               {"equalization", equalization},
               {"fitted", fitted},
               {"preprocessing", preprocessing}});
  CalibrationSample pictures = calibration.sample;
  std::vector<std::int64_t> batches(pictures.size(), 0);
  pictures.insert(pictures.end(), calibration.held_out.begin(), calibration.held_out.end());
  batches.resize(pictures.size(), kHeldOut);
  AtomicFiles file;
  file.begin(path);
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names may hold anything
  file.write(json.dump(-1, ' ', false, kReplace) + '\n' + sample_to_bytes(pictures, batches));
  file.commit();
}

KeptStatistics KeptStatistics::load(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  return read(read_text(path, kMaxBytes), path);
}

KeptStatistics KeptStatistics::read(std::string_view bytes, const std::string& name) try {
  std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) fail("its first line has no end");
  nlohmann::json json = nlohmann::json::parse(bytes.substr(0, end));
  const bool is_older = json.at("format") == kOlderFormat;
  if (json.at("format") != kFormat && !is_older) fail("it is of another kind");
  KeptStatistics result;
  result.calibration = Calibration::from_json(json);
  result.bits = json.at("bits").get<int>();
  if (is_older) {
    result.equalization = json.at("equalized").get<bool>() ? Equalization::kAll : Equalization::kNone;
  } else {
    result.equalization = json.at("equalization").get<Equalization>();
    result.fitted = json.value("fitted", false);
    result.preprocessing = json.at("preprocessing").get<std::string>();
  }
  for (auto& [batch, inputs] : sample_from_bytes(bytes.substr(end + 1)))
    (batch == kHeldOut ? result.calibration.held_out : result.calibration.sample)
        .push_back(std::move(inputs));
  if (result.calibration.sample.empty() || result.calibration.batches < 1)
    fail("there are no pictures in it");
  return result;
} catch (const std::exception& error) {
  fail("{}: not a file that save_stats of this version of octet wrote ({})", name, printable(error.what()));
}

namespace {

// Runs the graph on batches, several at a time, and shows the watched tensors. What is made of them may not
// depend on the order of batches.
class Watcher {
 public:
  Watcher(const Graph& graph, const std::set<ValueId>& tensors, const Device* device, ThreadPool& pool)
      : names_(graph.values.size()), pool_(pool) {
    for (ValueId id : tensors) names_[static_cast<std::size_t>(id)] = graph.value(id).name;
    executable_ = prepare(graph, {.observed = {tensors.begin(), tensors.end()}, .device = device});
  }

  // next(inputs) gives the number of the next batch, -1: there are no more; see(batch, name, values, samples,
  // pool) gets each watched tensor. Neither is called twice at once, see for the same tensor.
  template <class Next, class See>
  void run(const Next& next, const See& see) {
    constexpr int kMaxAtOnce = 4;  // each needs memory for the activations of a batch
    const int at_once = std::min(pool_.threads(), kMaxAtOnce);
    std::mutex turn;
    std::map<std::string, std::mutex> locks;
    for (const std::string& name : names_) locks[name];
    bool over = false;
    pool_.parallel_for(at_once, [&](std::int64_t) {
      ThreadPool threads(pool_.threads() / at_once);
      Session session(executable_, threads);
      for (std::vector<Tensor> inputs;;) {
        std::int64_t batch = -1;
        {
          std::lock_guard lock(turn);
          if (over) return;
          over = true;  // also when next() throws
          batch = next(&inputs);
          over = batch < 0;
          if (over) return;
        }
        session.run(inputs, nullptr, [&](ValueId id, const Tensor& tensor) {
          auto at = static_cast<std::size_t>(id);
          if (at >= names_.size() || names_[at].empty() || tensor.dtype() != DType::kFloat32) return;
          std::lock_guard lock(locks.at(names_[at]));
          see(batch, names_[at], tensor.data<float>(), tensor.rank() > 0 ? tensor.dim(0) : 1, threads);
        });
      }
    });
  }

 private:
  std::vector<std::string> names_;
  ThreadPool& pool_;
  std::shared_ptr<const Executable> executable_;
};

std::string to_bytes(const nlohmann::json& json) {
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  return bytes;
}

// What each process saw of the data, put together, everywhere.
Calibration put_together(Calibration mine, Comm& comm) {
  if (comm.size() == 1) return mine;
  Calibration whole;
  for (const std::string& part : comm.gather(to_bytes(mine.to_json())))
    whole.merge(Calibration::from_json(nlohmann::json::from_cbor(part)));
  return Calibration::from_json(nlohmann::json::from_cbor(comm.broadcast(to_bytes(whole.to_json()))));
}

void put_together(std::map<std::string, Histogram>& histograms, Comm& comm) {
  if (comm.size() == 1) return;
  nlohmann::json mine = nlohmann::json::object();
  for (const auto& [name, histogram] : histograms) mine[name] = histogram.counts;
  std::map<std::string, std::vector<double>> sums;
  for (const std::string& bytes : comm.gather(to_bytes(mine))) {
    nlohmann::json part = nlohmann::json::from_cbor(bytes);
    for (const auto& [name, counts] : part.items()) {
      std::vector<double>& sum = sums[name];
      sum.resize(counts.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += counts[i].get<double>();
    }
  }
  nlohmann::json all = nlohmann::json::from_cbor(comm.broadcast(to_bytes(sums)));
  for (auto& [name, histogram] : histograms) histogram.counts = all.at(name).get<std::vector<double>>();
}

}  // namespace

Calibration calibrate(const Graph& graph, const std::set<ValueId>& tensors, const Batches& batches,
                      const CalibrateOptions& options, Comm& comm, ThreadPool& pool) {
  Watcher watcher(graph, tensors, options.device, pool);
  Calibration result;
  Wanted wanted = options.wanted;
  wanted.histogram = wanted.histogram && !options.two_pass;
  for (ValueId id : tensors) result.tensors[graph.value(id).name];
  SampleCollector sample(kSampleSize, options.window);
  // The batches of this process, one after the other.
  std::int64_t batch = 0;
  auto next = [&](std::vector<Tensor>* inputs) {
    for (;;) {
      const std::int64_t index = batch;
      const bool more = options.batch_num == 0 || index < options.batch_num;
      if (!more || !batches(index, inputs)) return std::int64_t{-1};
      batch += comm.size();
      if (options.progress) options.progress(index + 1);
      if (!inputs->empty()) return index;
    }
  };
  batch = comm.rank();
  watcher.run(
      [&](std::vector<Tensor>* inputs) {
        std::int64_t index = next(inputs);
        if (index < 0) return index;
        sample.add(index, *inputs);
        ++result.batches;
        result.pictures += pictures_in(*inputs);
        return index;
      },
      [&](std::int64_t index, const std::string& name, std::span<const float> values, std::int64_t samples,
          ThreadPool& threads) { result.tensors.at(name).update(index, values, samples, wanted, threads); });
  result = put_together(std::move(result), comm);
  result.sample = sample.gather(comm);
  if (!options.two_pass || !options.wanted.histogram) return result;
  for (const auto& [name, statistics] : result.tensors)
    result.second_pass[name] = {static_cast<double>(statistics.abs_min),
                                static_cast<double>(statistics.abs_max), std::vector<double>(kCoarseBins)};
  batch = comm.rank();
  watcher.run(next, [&](std::int64_t, const std::string& name, std::span<const float> values, std::int64_t,
                        ThreadPool&) { add_to(result.second_pass.at(name), values); });
  put_together(result.second_pass, comm);
  return result;
}

}  // namespace octet::quant
