#include "graph/ops/nms.h"

#include <algorithm>

namespace octet::ops {

namespace {

struct Corners {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};

Corners corners_of(const float* box, bool centered) {
  if (centered) return {box[1] - box[3] / 2, box[0] - box[2] / 2, box[1] + box[3] / 2, box[0] + box[2] / 2};
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

bool overlaps(const Corners& a, const Corners& b, float threshold) {
  float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0)) return false;
  float common = height * width;
  return common / (a.area() + b.area() - common) > threshold;
}

}  // namespace

std::vector<NmsBox> select_boxes(const Tensor& boxes, const Tensor& scores, const NmsOptions& options) {
  std::vector<NmsBox> result;
  std::int64_t images = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
  std::vector<Corners> corners(static_cast<std::size_t>(count));
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t i = 0; i < count; ++i)
      corners[static_cast<std::size_t>(i)] =
          corners_of(boxes.data<float>().data() + (image * count + i) * 4, options.centered);
    for (std::int64_t category = 0; category < classes; ++category) {
      const float* score = scores.data<float>().data() + (image * classes + category) * count;
      std::vector<std::int64_t> order, kept;
      for (std::int64_t i = 0; i < count; ++i) {
        bool low = options.has_score_threshold && !(score[i] > options.score_threshold);
        if (!low && score[i] == score[i]) order.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
      for (std::int64_t candidate : order) {
        if (static_cast<std::int64_t>(kept.size()) >= options.max_boxes) break;
        bool covered = std::any_of(kept.begin(), kept.end(), [&](std::int64_t other) {
          return overlaps(corners[static_cast<std::size_t>(candidate)],
                          corners[static_cast<std::size_t>(other)], options.iou_threshold);
        });
        if (!covered) kept.push_back(candidate);
      }
      for (std::int64_t box : kept) result.push_back({image, category, box});
    }
  }
  return result;
}

}  // namespace octet::ops
