#pragma once
#include <array>

#include "tasks/metric.h"

namespace octet {

// How often a classifier is right: the label has the best score, or one of the five best.
class Accuracy : public Metric {
 public:
  void update(const Tensor& output, const Batch& batch) override;
  std::vector<MetricRow> rows() const override;
  std::span<double> sums() override { return sums_; }

 private:
  enum { kPictures, kTop1, kTop5 };
  std::array<double, 3> sums_{};
};

}  // namespace octet
