#include "train/evaluate.h"

#include "data/loader.h"
#include "runtime/executor.h"
#include "train/convert.h"

namespace octet::train {

namespace {

std::unique_ptr<Metric> evaluate_with(const std::function<Tensor(const Tensor&)>& run, const Dataset& dataset,
                                      const Transforms& transforms, const EvaluateOptions& options) {
  Loader loader(dataset, transforms,
                {.batching = Batching::kFixed,
                 .batch_size = options.batch_size,
                 .workers = options.workers,
                 .shard = {options.comm->rank(), options.comm->size()}});
  std::unique_ptr<Metric> metric = options.task.metric();
  std::int64_t pictures = 0;
  const auto total = static_cast<std::int64_t>(dataset.entries.size());
  while (const std::optional<Batch> batch = loader.next()) {
    for (const std::string& message : batch->broken)
      if (options.reporter) options.reporter->warning(message + "; skipped");
    if (batch->labels.empty()) continue;
    metric->update(run(batch->pixels), *batch);
    pictures += batch->size();
    if (options.reporter)
      options.reporter->progress("pictures", std::min(pictures * options.comm->size(), total), total);
  }
  if (options.reporter) options.reporter->progress("pictures", total, total);
  options.comm->all_reduce(metric->sums());
  return metric;
}

}  // namespace

std::unique_ptr<Metric> evaluate(const Graph& graph, const Dataset& dataset, const Transforms& transforms,
                                 const EvaluateOptions& options, ThreadPool& pool) {
  Session session(prepare(graph, {}), pool);
  return evaluate_with([&](const Tensor& pixels) { return session.run({pixels}).at(0); }, dataset, transforms,
                       options);
}

std::unique_ptr<Metric> evaluate(Network& network, const Dataset& dataset, const Transforms& transforms,
                                 const EvaluateOptions& options) {
  const at::NoGradGuard no_gradients;
  const bool training = std::exchange(network.training, false);
  std::unique_ptr<Metric> metric = evaluate_with(
      [&](const Tensor& pixels) { return from_torch(network.forward(view_in_torch(pixels)).to(at::kFloat)); },
      dataset, transforms, options);
  network.training = training;
  return metric;
}

}  // namespace octet::train
