#pragma once
#include "base/reporter.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "tasks/confusion.h"
#include "tasks/segmentation_inference.h"
#include "tasks/task.h"
#include "train/network.h"

namespace octet::train {

struct EvaluateOptions {
  const Task& task = default_task();
  MetricOptions metric = {};
  std::int64_t classes = 0;  // that are told apart; 0: answers are not counted by class
  int batch_size = 32;
  int workers = 1;
  SegmentOptions segment = {};  // of segmentation, whose pictures are looked at one by one
  Summands summands = Summands::kProbabilities;
  Comm* comm = nullptr;          // the processes that share the work
  Reporter* reporter = nullptr;  // of progress and pictures that can't be read; none: quiet
};

// What came of it.
struct Evaluation {
  std::unique_ptr<Metric> metric;
  Confusion confusion;              // none where there are very many classes, and of pixels
  std::optional<double> loss = {};  // of classifiers: the mean of the plain one, without weights or smoothing
  std::int64_t pictures = 0;        // of all processes
};

// How good the answers are that the task asks for. On the CPU the graph runs in octet's own runtime, so the
// number is that of the deployed model; every process gets the total.
Evaluation evaluate(const Graph& graph, const Dataset& dataset, const Transforms& transforms,
                    const EvaluateOptions& options, ThreadPool& pool);
// The same on the network's device.
Evaluation evaluate(Network& network, const Dataset& dataset, const Transforms& transforms,
                    const EvaluateOptions& options);

}  // namespace octet::train
