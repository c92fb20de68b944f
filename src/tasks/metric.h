#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "tensor/tensor.h"

namespace octet {

// A number that judges answers, from 0 to 1, and what it is called.
struct MetricRow {
  std::string_view key;     // in results: "acc1"
  std::string_view tag;     // in logs of training: "top1"
  std::string_view column;  // in tables: "top-1"
  std::string_view title;   // behind an epoch: "Acc@1"
  double value = 0;
};

// What a metric has to know beforehand.
struct MetricOptions {
  std::int64_t classes = 0;  // that are told apart, by metrics that count them one by one
  double absent_iou = 0;     // the IoU of a class that is neither predicted nor true
};

// Counts how good the answers of a model are, batch after batch. All that it knows is sums, so that what
// threads and processes counted is added up.
class Metric {
 public:
  virtual ~Metric() = default;

  // With the model's output for the pictures of a batch.
  virtual void update(const Tensor& output, const Batch& batch) = 0;
  // The first one decides which model is better.
  virtual std::vector<MetricRow> rows() const = 0;
  // Whether a value of the first row is better than another.
  virtual bool better(double value, double than) const { return value > than; }

  virtual std::span<double> sums() = 0;
  void merge(Metric& other) {
    const std::span<double> mine = sums(), others = other.sums();
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += others[i];
  }
};

}  // namespace octet
