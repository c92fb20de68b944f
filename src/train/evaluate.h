#pragma once
#include "base/reporter.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "tasks/task.h"
#include "train/network.h"

namespace octet::train {

struct EvaluateOptions {
  const Task& task = default_task();
  int batch_size = 32;
  int workers = 1;
  Comm* comm = nullptr;          // the processes that share the work
  Reporter* reporter = nullptr;  // of progress and pictures that can't be read; none: quiet
};

// How good the answers are that the task asks for. On the CPU the graph runs in octet's own runtime, so the
// number is that of the deployed model; every process gets the total.
std::unique_ptr<Metric> evaluate(const Graph& graph, const Dataset& dataset, const Transforms& transforms,
                                 const EvaluateOptions& options, ThreadPool& pool);
// The same on the network's device.
std::unique_ptr<Metric> evaluate(Network& network, const Dataset& dataset, const Transforms& transforms,
                                 const EvaluateOptions& options);

}  // namespace octet::train
