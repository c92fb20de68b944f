#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/metric.h"

// What a model is for. docs/add-a-task.md says how to add one.
namespace octet {

// What training makes small; src/train/loss.cc has them.
enum class Loss {
  kCrossEntropy,  // of one class for each picture
  kPixels,        // those of segmentation, as many as the network has outputs
};

// What an inference model ends in, behind the scores that training sees.
enum class Head { kSoftmax, kArgmax };

// How answers are told to a person.
struct AnswerOptions {
  int topk = 1;
  std::vector<std::string> labels = {};  // the names of the classes; none: their numbers only
};

// One of them.
struct Answer {
  std::string picture;
  std::int64_t class_id = 0;
  float score = 0;
  std::string label;  // empty where there are no names
};

// A row of the table in task.cc. An output is that of the model for a batch.
struct Task {
  std::string_view name;
  std::string_view model;  // what has such a task: "a classifier"
  Loss loss;
  Head head;
  std::unique_ptr<Metric> (*metric)(const MetricOptions& options);

  std::string_view output;  // of a picture: "one row of class scores"
  bool (*accepts)(const Tensor& output, std::int64_t pictures);

  // The class of each thing that is to be decided; -1 where the scores are not numbers.
  std::vector<std::int64_t> (*decide)(const Tensor& output);
  // For pictures of these names, in their order; of each the likeliest first.
  std::vector<Answer> (*answers)(const Tensor& output, const std::vector<std::string>& pictures,
                                 const AnswerOptions& options);
};

std::span<const Task> task_table();

// What models are for unless someone says otherwise.
const Task& default_task();

}  // namespace octet
