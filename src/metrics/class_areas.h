#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

// How many pixels of each class there are: I where prediction and truth agree, P that are predicted, L that
// are true. All that segmentation is judged by follows from them. What several processes counted is added up.
class ClassAreas {
 public:
  explicit ClassAreas(std::int64_t classes)
      : classes_(classes), sums_(static_cast<std::size_t>(3 * classes)) {}

  // The classes of pixels, as predicted and in truth. Pixels whose truth is `ignored` count nowhere; a
  // prediction beyond the classes is none, and is right nowhere. An Error when a truth is beyond them.
  void add(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
           std::uint8_t ignored);

  std::int64_t classes() const { return classes_; }
  std::span<double> sums() { return sums_; }  // I, P and L of all classes, one after the other
  std::span<const double> intersection() const { return part(0); }
  std::span<const double> predicted() const { return part(1); }
  std::span<const double> truth() const { return part(2); }

 private:
  std::span<const double> part(std::int64_t i) const {
    return std::span(sums_).subspan(static_cast<std::size_t>(i * classes_),
                                    static_cast<std::size_t>(classes_));
  }

  std::int64_t classes_;
  std::vector<double> sums_;
};

// What PaddleSeg computes from the areas (paddleseg/utils/metrics.py).
struct SegmentationScores {
  std::vector<double> iou;             // I / (P + L - I)
  std::vector<double> precision;       // I / P; 0 where nothing is predicted
  std::vector<double> recall;          // I / L; 0 where there is nothing
  std::vector<double> dice;            // 2I / (P + L); 0 where both are nothing
  double mean_iou = 0, mean_dice = 0;  // over all classes
  double accuracy = 0;                 // sum of I / sum of P
  double kappa = 0;  // (o - e) / (1 - e): o = sum of I / N, e = sum of P*L / N^2, N = sum of L
};

// `absent_iou` is the IoU of a class that is neither predicted nor true: PaddleSeg took 0, and 1 from version
// 2.9 on.
SegmentationScores scores_of(const ClassAreas& areas, double absent_iou = 0);

}  // namespace octet
