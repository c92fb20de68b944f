#pragma once
#include "data/transform.h"

namespace octet {

// A random sub-policy of AutoAugment's for ImageNet, https://arxiv.org/abs/1805.09501.
struct AutoAugment {
  static const TransformRow kRow;

  void settings(Settings&) {}
  void check() const {}
  void apply(Example& example, Random& random) const;
  bool operator==(const AutoAugment&) const = default;
};

}  // namespace octet
