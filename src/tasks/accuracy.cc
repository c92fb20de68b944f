#include "tasks/accuracy.h"

#include <cmath>

#include "metrics/topk.h"

namespace octet {

void Accuracy::update(const Tensor& output, const Batch& batch) {
  constexpr int kTop = 5;
  const std::span<const float> scores = output.data<float>();
  const std::size_t classes = scores.size() / batch.labels.size();
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    ++sums_[kPictures];
    int place = 0;
    for (const Scored& best : top_k(scores.subspan(i * classes, classes), kTop)) {
      // A network that answers NaN is never right.
      if (best.index == batch.labels[i] && !std::isnan(best.score)) {
        sums_[kTop1] += place == 0;
        ++sums_[kTop5];
      }
      ++place;
    }
  }
}

std::vector<MetricRow> Accuracy::rows() const {
  const double pictures = std::max(sums_[kPictures], 1.0);
  return {{"acc1", "top1", "top-1", "Acc@1", sums_[kTop1] / pictures},
          {"acc5", "top5", "top-5", "Acc@5", sums_[kTop5] / pictures}};
}

}  // namespace octet
