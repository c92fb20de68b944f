#include "train/evaluate.h"

#include <array>

#include "data/loader.h"
#include "runtime/executor.h"
#include "train/convert.h"
#include "train/loss.h"

namespace octet::train {

namespace {

Evaluation evaluate_with(const std::function<Tensor(const Tensor&)>& run, const Dataset& dataset,
                         const Transforms& transforms, const EvaluateOptions& options) {
  const at::NoGradGuard no_gradients;
  Loader loader(dataset, transforms,
                {.batching = Batching::kFixed,
                 .batch_size = options.batch_size,
                 .workers = options.workers,
                 .shard = {options.comm->rank(), options.comm->size()}});
  Evaluation result{.metric = options.task.metric({}),
                    .confusion = Confusion(options.classes <= kMaxClasses ? options.classes : 0)};
  std::array<double, 2> sums{};  // of the loss, and pictures
  std::int64_t pictures = 0;
  const auto total = static_cast<std::int64_t>(dataset.entries.size());
  while (const std::optional<Batch> batch = loader.next()) {
    for (const std::string& message : batch->broken)
      if (options.reporter) options.reporter->warning(message + "; skipped");
    if (batch->labels.empty()) continue;
    const Tensor output = run(batch->pixels);
    result.metric->update(output, *batch);
    if (result.confusion.classes() > 0) result.confusion.add(options.task.decide(output), batch->labels);
    const at::Tensor loss =
        losses_of(options.task.loss, {view_in_torch(output).reshape({batch->size(), -1})}, *batch, {}).at(0);
    sums[0] += loss.item<double>() * static_cast<double>(batch->size());
    pictures += batch->size();
    if (options.reporter)
      options.reporter->progress("pictures", std::min(pictures * options.comm->size(), total), total);
  }
  if (options.reporter) options.reporter->progress("pictures", total, total);
  sums[1] = static_cast<double>(pictures);
  options.comm->all_reduce(result.metric->sums());
  options.comm->all_reduce(std::span<double>(sums));
  if (result.confusion.classes() > 0) options.comm->all_reduce(result.confusion.sums());
  result.loss = sums[0] / std::max(sums[1], 1.0);
  return result;
}

}  // namespace

Evaluation evaluate(const Graph& graph, const Dataset& dataset, const Transforms& transforms,
                    const EvaluateOptions& options, ThreadPool& pool) {
  Session session(prepare(graph, {}), pool);
  return evaluate_with([&](const Tensor& pixels) { return session.run({pixels}).at(0); }, dataset, transforms,
                       options);
}

Evaluation evaluate(Network& network, const Dataset& dataset, const Transforms& transforms,
                    const EvaluateOptions& options) {
  const bool training = std::exchange(network.training, false);
  Evaluation result = evaluate_with(
      [&](const Tensor& pixels) { return from_torch(network.forward(view_in_torch(pixels)).to(at::kFloat)); },
      dataset, transforms, options);
  network.training = training;
  return result;
}

}  // namespace octet::train
