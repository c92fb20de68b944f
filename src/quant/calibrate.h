#pragma once
#include <map>
#include <set>

#include "comm/comm.h"
#include "graph/graph.h"
#include "quant/calibration_sample.h"
#include "quant/equalize.h"
#include "quant/statistics.h"
#include "runtime/executor.h"

namespace octet::quant {

// What one calibration has seen: statistics of tensors, by name, and a few of the pictures.
struct Calibration {
  std::map<std::string, TensorStatistics> tensors;
  std::map<std::string, Histogram> second_pass;
  std::int64_t batches = 0, pictures = 0;
  CalibrationSample sample;    // that decisions are tried on
  CalibrationSample held_out;  // that the result is judged on; empty: there are no others

  void merge(const Calibration& other);  // but for the samples,
  nlohmann::json to_json() const;        // which are not in here either
  static Calibration from_json(const nlohmann::json& json);
};

// A calibration in a file (save_stats), so that another quantization needs no pictures: a line of JSON, and
// the samples.
struct KeptStatistics {
  Calibration calibration;
  int bits = 8;                                     // that thresholds were tried with
  Equalization equalization = Equalization::kNone;  // of the graph that was watched
  bool fitted = false;                              // its layers' inputs were (fit_inputs.h)
  std::string preprocessing;                        // QuantizeOptions::preprocessing

  void save(const std::string& path) const;
  static KeptStatistics load(const std::string& path);
  static KeptStatistics read(std::string_view bytes, const std::string& name);  // of the file, for errors
};

constexpr std::int64_t kSampleSize = 32;  // pictures that decisions are tried on

struct CalibrateOptions {
  Wanted wanted;
  bool two_pass = false;
  std::int64_t batch_num = 0;      // 0: all
  std::int64_t window = 0;         // of the pictures that are kept (window.h); 0: they are kept whole
  const Device* device = nullptr;  // that runs the graph; null: this CPU
  std::function<void(std::int64_t done)> progress = {};
};

// Runs the float graph on the batches (an empty one is passed over), watches `tensors` and keeps the first
// kSampleSize pictures. Each process takes the batches whose index is its rank modulo their number, and all
// of them get the statistics of the whole: the same, to the bit, as one process alone.
Calibration calibrate(const Graph& graph, const std::set<ValueId>& tensors, const Batches& batches,
                      const CalibrateOptions& options, Comm& comm, ThreadPool& pool);

}  // namespace octet::quant
