#include "train/evaluate.h"

#include "data/loader.h"
#include "runtime/executor.h"
#include "train/convert.h"

namespace octet::train {

namespace {

Accuracy evaluate_with(const std::function<Tensor(const Tensor&)>& run, const Dataset& dataset,
                       const Transforms& transforms, const EvaluateOptions& options) {
  Loader loader(dataset, transforms,
                {.batching = Batching::kFixed,
                 .batch_size = options.batch_size,
                 .workers = options.workers,
                 .shard = {options.comm->rank(), options.comm->size()}});
  Accuracy accuracy;
  const auto total = static_cast<std::int64_t>(dataset.entries.size());
  while (const std::optional<Batch> batch = loader.next()) {
    for (const std::string& message : batch->broken)
      if (options.reporter) options.reporter->warning(message + "; skipped");
    if (batch->labels.empty()) continue;
    const Tensor scores = run(batch->pixels);
    const auto classes = static_cast<std::size_t>(scores.dim(1));
    for (std::size_t i = 0; i < batch->labels.size(); ++i)
      accuracy.update(scores.data<float>().subspan(i * classes, classes), batch->labels[i]);
    if (options.reporter)
      options.reporter->progress("pictures", std::min(accuracy.samples * options.comm->size(), total), total);
  }
  if (options.reporter) options.reporter->progress("pictures", total, total);
  double counts[] = {static_cast<double>(accuracy.samples), static_cast<double>(accuracy.top1),
                     static_cast<double>(accuracy.top5)};
  options.comm->all_reduce(std::span<double>(counts));
  accuracy.samples = static_cast<std::int64_t>(counts[0]);
  accuracy.top1 = static_cast<std::int64_t>(counts[1]);
  accuracy.top5 = static_cast<std::int64_t>(counts[2]);
  return accuracy;
}

}  // namespace

Accuracy evaluate(const Graph& graph, const Dataset& dataset, const Transforms& transforms,
                  const EvaluateOptions& options, ThreadPool& pool) {
  Session session(prepare(graph, {}), pool);
  return evaluate_with([&](const Tensor& pixels) { return session.run({pixels}).at(0); }, dataset, transforms,
                       options);
}

Accuracy evaluate(Network& network, const Dataset& dataset, const Transforms& transforms,
                  const EvaluateOptions& options) {
  const at::NoGradGuard no_gradients;
  const bool training = std::exchange(network.training, false);
  const Accuracy accuracy = evaluate_with(
      [&](const Tensor& pixels) { return from_torch(network.forward(view_in_torch(pixels)).to(at::kFloat)); },
      dataset, transforms, options);
  network.training = training;
  return accuracy;
}

}  // namespace octet::train
