#include "train/evaluate.h"

#include <array>

#include "data/loader.h"
#include "runtime/executor.h"
#include "tasks/segmentation.h"
#include "train/convert.h"
#include "train/loss.h"

namespace octet::train {

namespace {

using Run = std::function<Tensor(const Tensor& pixels)>;

// A class for each pixel, at the size of the mask.
void judge_pixels(const Run& run, const Batch& batch, const EvaluateOptions& options,
                  SegmentationMetric& metric) {
  const Tensor scores = segment(run, batch.pixels, options.segment, options.summands);
  const Mask predicted = classes_of(scores, batch.changes);
  Mask truth(static_cast<int>(batch.masks.dim(2)), static_cast<int>(batch.masks.dim(1)));
  std::ranges::copy(batch.masks.data<std::uint8_t>(), truth.pixels.begin());
  check(predicted.pixels.size() == truth.pixels.size(), "an answer has the size of its mask");
  metric.add(predicted, truth);
}

// A class for each picture. Returns the sum of the losses.
double judge_pictures(const Run& run, const Batch& batch, const EvaluateOptions& options,
                      Evaluation& result) {
  const Tensor output = run(batch.pixels);
  result.metric->update(output, batch);
  if (result.confusion.classes() > 0) result.confusion.add(options.task.decide(output), batch.labels);
  const at::Tensor scores = view_in_torch(output).reshape({batch.size(), -1});
  return losses_of(options.task.loss, {scores}, batch, {}).at(0).item<double>() *
         static_cast<double>(batch.size());
}

Evaluation evaluate_with(const Run& run, const Dataset& dataset, const Transforms& transforms,
                         const EvaluateOptions& options) {
  const at::NoGradGuard no_gradients;
  const bool has_pixels = options.task.loss == Loss::kPixels;
  Loader loader(dataset, transforms,
                {.batching = Batching::kFixed,
                 .batch_size = has_pixels ? 1 : options.batch_size,
                 .workers = options.workers,
                 .shard = {options.comm->rank(), options.comm->size()},
                 .keep_masks = true});
  const bool has_confusion = !has_pixels && options.classes <= kMaxClasses;
  Evaluation result{.metric = options.task.metric(options.metric),
                    .confusion = Confusion(has_confusion ? options.classes : 0)};
  std::array<double, 2> sums{};  // of the loss, and pictures
  std::int64_t pictures = 0;
  const auto total = static_cast<std::int64_t>(dataset.entries.size());
  while (const std::optional<Batch> batch = loader.next()) {
    for (const std::string& message : batch->broken)
      if (options.reporter) options.reporter->warning(message + "; skipped");
    if (batch->size() == 0) continue;
    if (has_pixels)
      judge_pixels(run, *batch, options, dynamic_cast<SegmentationMetric&>(*result.metric));
    else
      sums[0] += judge_pictures(run, *batch, options, result);
    pictures += batch->size();
    if (options.reporter)
      options.reporter->progress("pictures", std::min(pictures * options.comm->size(), total), total);
  }
  if (options.reporter) options.reporter->progress("pictures", total, total);
  sums[1] = static_cast<double>(pictures);
  options.comm->all_reduce(result.metric->sums());
  options.comm->all_reduce(std::span<double>(sums));
  if (result.confusion.classes() > 0) options.comm->all_reduce(result.confusion.sums());
  result.pictures = std::llround(sums[1]);
  if (!has_pixels) result.loss = sums[0] / std::max(sums[1], 1.0);
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
