#pragma once
#include <limits>

#include "graph/op_table.h"

// What the rows of the op table allow of attributes.
namespace octet::ops {

// More than any vision model has; it keeps loops over dimensions short whatever a file says.
constexpr std::size_t kMaxRank = 16;

// Far beyond what vision models have, and small enough that no product or sum of them overflows.
constexpr std::int64_t kMaxStep = 1024;       // strides, dilations, paddings
constexpr std::int64_t kMaxExtent = 1 << 16;  // kernels and sizes given by attributes

inline Allowed between(double min, double max) {
  return {.min = min, .max = max};
}
inline Allowed from(double min) {
  return {.min = min, .max = std::numeric_limits<double>::infinity()};
}
inline Allowed anything() {  // any number, and lists of as many as there can be dimensions
  return from(-std::numeric_limits<double>::infinity());
}
inline Allowed axis_range() {
  return between(-static_cast<double>(kMaxRank), static_cast<double>(kMaxRank));
}
inline Allowed words(std::vector<std::string_view> list) {
  return {.words = std::move(list)};
}
inline Allowed numbers(std::vector<std::size_t> counts, double min, double max) {
  return {.min = min, .max = max, .counts = std::move(counts)};
}

using IntList = std::vector<std::int64_t>;

inline AttrSpec axis_attr(std::int64_t value, std::string_view name = "axis") {
  return {name, value, axis_range()};
}
inline AttrSpec axes_attr(std::string_view name) {
  return {name, IntList{}, axis_range()};
}
inline AttrSpec flag(std::string_view name, bool value) {
  return {name, value};
}
inline AttrSpec bits_attr(double max, std::string_view name = "bits") {
  return {name, std::int64_t{8}, between(2, max)};
}
inline AttrSpec rounding_attr(const char* value) {
  return {"rounding", std::string(value), words({"even", "away"})};
}
AttrSpec number_attr(std::string_view name, double value);  // any number
// A dtype that octet's tensors have.
AttrSpec dtype_spec(const char* value);

}  // namespace octet::ops
