#include "tasks/classification.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "metrics/topk.h"

namespace octet {

namespace {

// The scores of picture i.
std::span<const float> row_of(const Tensor& output, std::size_t i) {
  const auto classes = static_cast<std::size_t>(output.dim(1));
  return output.data<float>().subspan(i * classes, classes);
}

bool is_distribution(std::span<const float> row) {
  double sum = 0;
  for (float p : row) {
    if (!(p >= 0 && p <= 1.001f)) return false;
    sum += p;
  }
  return std::abs(sum - 1) < 1e-3;
}

// Models end in scores or in probabilities; both are shown as probabilities.
std::vector<float> to_probabilities(std::span<const float> row) {
  std::vector<float> result(row.begin(), row.end());
  if (is_distribution(row)) return result;
  float largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float& p : result) sum += p = std::exp(p - largest);
  for (float& p : result) p = static_cast<float>(p / sum);
  return result;
}

}  // namespace

std::unique_ptr<Metric> make_accuracy(const MetricOptions&) {
  return std::make_unique<Accuracy>();
}

bool is_row_of_scores(const Tensor& output, std::int64_t pictures) {
  return output.dtype() == DType::kFloat32 && output.rank() >= 2 && output.dim(0) == pictures &&
         output.size() > 0 && output.size() / pictures == output.dim(1);
}

std::vector<std::int64_t> likeliest_classes(const Tensor& output) {
  std::vector<std::int64_t> classes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(output.dim(0)); ++i) {
    const Scored best = top_k(row_of(output, i), 1).at(0);
    classes.push_back(std::isnan(best.score) ? -1 : best.index);
  }
  return classes;
}

std::vector<Answer> likeliest_answers(const Tensor& output, const std::vector<std::string>& pictures,
                                      const AnswerOptions& options) {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < pictures.size(); ++i)
    for (const Scored& best : top_k(to_probabilities(row_of(output, i)), options.topk))
      answers.push_back({pictures[i], best.index, best.score,
                         options.labels.empty() ? "" : options.labels[static_cast<std::size_t>(best.index)]});
  return answers;
}

}  // namespace octet
