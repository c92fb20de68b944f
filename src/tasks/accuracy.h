#pragma once
#include "tasks/metric.h"

namespace octet {

// How often a classifier is right: the label has the best score, or one of the five best.
class Accuracy : public Metric {
 public:
  Accuracy() : Metric(3) {}

  void update(const Tensor& output, const Batch& batch) override;
  std::vector<MetricRow> rows() const override;

 private:
  enum { kPictures, kTop1, kTop5 };
};

}  // namespace octet
