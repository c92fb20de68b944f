#pragma once
#include "tasks/accuracy.h"
#include "tasks/task.h"

// One class for a picture: a model gives a row of scores, or of probabilities, for each.
namespace octet {

std::unique_ptr<Metric> make_accuracy(const MetricOptions& options);
bool is_row_of_scores(const Tensor& output, std::int64_t pictures);
std::vector<std::int64_t> likeliest_classes(const Tensor& output);
std::vector<Answer> likeliest_answers(const Tensor& output, const std::vector<std::string>& pictures,
                                      const AnswerOptions& options);

constexpr Task kClassification = {
    .name = "classification",
    .model = "a classifier",
    .loss = Loss::kCrossEntropy,
    .head = Head::kSoftmax,
    .metric = make_accuracy,
    .output = "one row of class scores",
    .accepts = is_row_of_scores,
    .decide = likeliest_classes,
    .answers = likeliest_answers,
};

}  // namespace octet
