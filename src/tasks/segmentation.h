#pragma once
#include "metrics/class_areas.h"
#include "tasks/task.h"

// A class for each pixel: a model gives scores for each, [N, C, H, W], or the classes themselves, [N, H, W].
namespace octet {

// The mean intersection over union, and what else follows from the areas of classes.
class SegmentationMetric : public Metric {
 public:
  explicit SegmentationMetric(const MetricOptions& options)
      : areas_(options.classes), absent_iou_(options.absent_iou) {}

  // The output has the size of the batch's masks.
  void update(const Tensor& output, const Batch& batch) override;
  // The classes of the pixels of a picture.
  void add(const Mask& predicted, const Mask& truth);
  std::vector<MetricRow> rows() const override;
  std::span<double> sums() override { return areas_.sums(); }

  SegmentationScores scores() const { return scores_of(areas_, absent_iou_); }

 private:
  ClassAreas areas_;
  double absent_iou_;
};

std::unique_ptr<Metric> make_segmentation_metric(const MetricOptions& options);
bool is_segmentation(const Tensor& output, std::int64_t pictures);
std::vector<std::int64_t> classes_of_pixels(const Tensor& output);
// The classes that have the largest shares of a picture's pixels, and these shares as their scores.
std::vector<Answer> largest_classes(const Tensor& output, const std::vector<std::string>& pictures,
                                    const AnswerOptions& options);

constexpr Task kSegmentation = {
    .name = "segmentation",
    .model = "a segmentation network",
    .loss = Loss::kPixels,
    .head = Head::kArgmax,
    .metric = make_segmentation_metric,
    .output = "scores or a class for each pixel",
    .accepts = is_segmentation,
    .decide = classes_of_pixels,
    .answers = largest_classes,
};

}  // namespace octet
