#pragma once
#include <optional>
#include <string>
#include <vector>

namespace octet::train {

// A loss of PaddleSeg's, by its name, with the settings that it knows.
struct LossSpec {
  std::string type = "CrossEntropyLoss";
  double coef = 1;                  // what it is multiplied by
  std::vector<double> weight = {};  // of classes; none: all alike
  double top_k_percent_pixels = 1;  // CrossEntropyLoss: the pixels of this share with the largest loss
  bool avg_non_ignore = true;       // CrossEntropyLoss: the mean over pixels that count, not over all
  double thresh = 0.7;              // OhemCrossEntropyLoss
  int min_kept = 10000;
  std::optional<double> smooth = {};  // DiceLoss; none: that of the version
  std::string classes = "present";    // LovaszSoftmaxLoss
  std::string class_balance = {};     // BCELoss: "dynamic", where its weight is that word
  std::string pos_weight = {};        // BCELoss: "", a number or "dynamic"
  std::vector<LossSpec> losses = {};  // MixedLoss: these, of one output

  bool operator==(const LossSpec&) const = default;
};

}  // namespace octet::train
