#include "tasks/segmentation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace octet {

namespace {

bool has_scores(const Tensor& output) {
  return output.dtype() == DType::kFloat32 && output.rank() == 4;
}

}  // namespace

std::unique_ptr<Metric> make_segmentation_metric(const MetricOptions& options) {
  return std::make_unique<SegmentationMetric>(options);
}

void SegmentationMetric::update(const Tensor& output, const Batch& batch) {
  const std::vector<std::int64_t> classes = classes_of_pixels(output);
  const std::span<const std::uint8_t> truth = batch.masks.data<std::uint8_t>();
  check(classes.size() == truth.size(), "there is an answer for each pixel of the masks");
  std::vector<std::uint8_t> predicted(classes.size(), Mask::kIgnored);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i] >= 0 && classes[i] < Mask::kIgnored) predicted[i] = static_cast<std::uint8_t>(classes[i]);
  areas_.add(predicted, truth, Mask::kIgnored);
}

void SegmentationMetric::add(const Mask& predicted, const Mask& truth) {
  areas_.add(predicted.pixels, truth.pixels, Mask::kIgnored);
}

std::vector<MetricRow> SegmentationMetric::rows() const {
  const SegmentationScores all = scores();
  return {{"miou", "mIoU", "mIoU", "mIoU", all.mean_iou},
          {"acc", "Acc", "Acc", "Acc", all.accuracy},
          {"kappa", "Kappa", "Kappa", "Kappa", all.kappa},
          {"dice", "Dice", "Dice", "Dice", all.mean_dice}};
}

bool is_segmentation(const Tensor& output, std::int64_t pictures) {
  const bool has_classes = (output.dtype() == DType::kInt64 || output.dtype() == DType::kInt32) &&
                           (output.rank() == 3 || (output.rank() == 4 && output.dim(1) == 1));
  return (has_scores(output) || has_classes) && output.size() > 0 && output.dim(0) == pictures &&
         output.dim(-1) * output.dim(-2) > 1;
}

std::vector<std::int64_t> classes_of_pixels(const Tensor& output) {
  if (!has_scores(output)) {
    const Tensor ids = output.cast(DType::kInt64);
    return {ids.data<std::int64_t>().begin(), ids.data<std::int64_t>().end()};
  }
  const auto pictures = static_cast<std::size_t>(output.dim(0)),
             classes = static_cast<std::size_t>(output.dim(1)),
             plane = static_cast<std::size_t>(output.dim(2) * output.dim(3));
  const std::span<const float> scores = output.data<float>();
  std::vector<std::int64_t> result(pictures * plane);
  for (std::size_t n = 0; n < pictures; ++n)
    for (std::size_t i = 0; i < plane; ++i) {
      const float* at = scores.data() + n * classes * plane + i;
      std::size_t best = 0;
      for (std::size_t c = 1; c < classes; ++c)
        if (at[c * plane] > at[best * plane] || std::isnan(at[best * plane])) best = c;
      result[n * plane + i] = std::isnan(at[best * plane]) ? -1 : static_cast<std::int64_t>(best);
    }
  return result;
}

std::vector<Answer> largest_classes(const Tensor& output, const std::vector<std::string>& pictures,
                                    const AnswerOptions& options) {
  const std::vector<std::int64_t> classes = classes_of_pixels(output);
  const std::size_t plane = classes.size() / pictures.size();
  std::vector<Answer> answers;
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    std::map<std::int64_t, std::int64_t> areas;
    for (std::size_t i = n * plane; i < (n + 1) * plane; ++i) ++areas[classes[i]];
    std::vector<std::pair<std::int64_t, std::int64_t>> sorted(areas.begin(), areas.end());
    std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::int64_t, std::int64_t>::second);
    sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(options.topk)));
    for (const auto& [id, area] : sorted) {
      const bool has_name = id >= 0 && id < std::ssize(options.labels);
      answers.push_back({pictures[n], id, static_cast<float>(area) / static_cast<float>(plane),
                         has_name ? options.labels[static_cast<std::size_t>(id)] : ""});
    }
  }
  return answers;
}

}  // namespace octet
