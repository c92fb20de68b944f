#pragma once
#include <functional>
#include <map>
#include <set>

#include "comm/comm.h"
#include "graph/graph.h"
#include "quant/sample.h"
#include "quant/statistics.h"

namespace octet::quant {

// The statistics of tensors, by name: of one calibration.
struct Calibration {
  std::map<std::string, TensorStatistics> tensors;
  std::map<std::string, Histogram> exact;  // of a second pass
  std::int64_t batches = 0, samples = 0;

  void merge(const Calibration& other);
  nlohmann::json to_json() const;
  static Calibration from_json(const nlohmann::json& json);
};

// What --save_stats keeps, so that another quantization needs no pictures: a line of JSON, and the sample.
struct KeptStatistics {
  Calibration calibration;
  Sample sample;
  int bits = 8;            // that thresholds were tried with
  bool equalized = false;  // the graph that was watched

  void save(const std::string& path) const;
  static KeptStatistics load(const std::string& path);
  static KeptStatistics read(std::string_view bytes, const std::string& name);  // of the file, for errors
};

// Gives the inputs of batch `index`, which rises in steps of the number of processes; false: there are no
// more.
using Batches = std::function<bool(std::int64_t index, std::vector<Tensor>* inputs)>;

struct CalibrateOptions {
  Wanted wanted;
  bool two_pass = false;
  std::int64_t batch_num = 0;  // 0: all
  std::function<void(std::int64_t done)> progress = {};
};

// Runs the float graph on the batches and watches `tensors`. Each process takes the batches whose index is
// its rank modulo their number, and all of them get the statistics of the whole: the same, to the bit, as one
// process alone.
Calibration calibrate(const Graph& graph, const std::set<ValueId>& tensors, const Batches& batches,
                      const CalibrateOptions& options, Comm& comm, ThreadPool& pool);

}  // namespace octet::quant
