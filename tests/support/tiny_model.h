#pragma once
#include <string>

#include "graph/builder.h"
#include "octet/model.h"

namespace octet {

// A classifier that can be checked by hand: the means of the colours give three scores, (red - green) / 4,
// (green - blue) / 4 and (blue - red) / 4. With `softmax`, probabilities.
inline Model tiny_classifier(bool softmax) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId weight = b.constant(
      "fc.weight", Tensor::of<float>({3, 3}, {0.25f, 0, -0.25f, -0.25f, 0.25f, 0, 0, -0.25f, 0.25f}));
  ValueId mean = b.flatten(b.global_avg_pool(x));
  b.rename(mean, "mean");
  ValueId y = b.matmul(mean, weight);
  if (softmax) y = b.softmax(y);
  b.rename(y, "y");
  return Model(std::make_shared<const Graph>(b.build({y})));
}

}  // namespace octet
