#pragma once
#include "graph/ops/geometry.h"

namespace octet::ref {

// The part of the image that one output of a pooling covers along one axis, and the length that an average
// which is not `exclusive` divides by.
struct PoolSpan {
  std::int64_t begin, end;
  std::int64_t length;

  bool empty() const { return begin >= end; }
};
std::vector<PoolSpan> pool_spans(const Node& node, const ops::WindowAxis& axis);

// What an average divides by.
inline std::int64_t pool_count(const PoolSpan& y, const PoolSpan& x, bool exclusive) {
  return exclusive ? (y.end - y.begin) * (x.end - x.begin) : y.length * x.length;
}

}  // namespace octet::ref
