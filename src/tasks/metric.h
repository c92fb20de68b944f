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

  std::span<double> sums() { return sums_; }
  void merge(const Metric& other) {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  }

 protected:
  explicit Metric(std::size_t sums) : sums_(sums) {}

  std::vector<double> sums_;
};

}  // namespace octet
