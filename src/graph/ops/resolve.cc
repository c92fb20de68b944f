#include "graph/ops/resolve.h"

#include <algorithm>

namespace octet::ops {

std::optional<std::int64_t> attr_or_input(const Node& node, std::string_view name, const ValueInfo* input) {
  if (input) return int_of(*input, name);
  return attr<std::int64_t>(node, name);
}

std::vector<std::size_t> permutation(const Node& node, std::size_t rank) {
  auto perm = attr<std::vector<std::int64_t>>(node, "perm");
  if (perm.empty())
    for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  if (perm.size() != rank) fail("perm has {} entries, x has {} dimensions", perm.size(), rank);
  std::vector<std::size_t> result;
  std::vector<bool> seen(rank, false);
  for (std::int64_t axis : perm) {
    auto i = static_cast<std::size_t>(normalize_axis(axis, rank, "perm"));
    if (seen[i]) fail("perm [{}] names dimension {} twice", fmt::join(perm, ","), i);
    seen[i] = true;
    result.push_back(i);
  }
  return result;
}

std::vector<bool> reduced_dims(const Node& node, std::size_t rank, const Tensor* input) {
  auto axes = input ? to_int64s(*input) : attr<std::vector<std::int64_t>>(node, "axes");
  if (axes.empty() || attr<bool>(node, "all")) return std::vector<bool>(rank, true);
  std::vector<bool> mask(rank, false);
  for (std::int64_t axis : axes) mask[static_cast<std::size_t>(normalize_axis(axis, rank))] = true;
  return mask;
}

namespace {

// Where index `i` of a dimension of `size` elements lies, between low and high.
std::int64_t clamp_index(std::int64_t i, std::int64_t size, std::int64_t low, std::int64_t high) {
  return std::clamp(i < 0 ? i + size : i, low, high);
}

SliceDim slice_dim(std::optional<std::int64_t> start, std::optional<std::int64_t> end, std::int64_t step,
                   std::int64_t size) {
  SliceDim dim;
  dim.step = step;
  if (!start || !end || size == kUnknown) return dim;
  // Backwards, a slice begins at the last element at most, and ends before the first.
  std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  dim.begin = clamp_index(*start, size, low, high);
  std::int64_t length = clamp_index(*end, size, low, high) - dim.begin;
  if (step < 0) length = -length;
  std::int64_t stride = step < 0 ? -step : step;
  dim.size = length <= 0 ? 0 : (length - 1) / stride + 1;
  if (dim.size == 0) dim.begin = 0;
  return dim;
}

}  // namespace

std::vector<SliceDim> slice_dims(const Node& node, Inputs inputs) {
  const Shape& x = inputs[0]->shape;
  Inputs items = inputs.size() > 3 ? inputs.subspan(3) : Inputs{};
  std::int64_t split = attr<std::int64_t>(node, "starts_items");
  if (split < 0 || split > static_cast<std::int64_t>(items.size()))
    fail("attribute starts_items is {}, there are {} items", split, items.size());
  auto starts = ints_from(items.first(static_cast<std::size_t>(split)), input_at(inputs, 1),
                          attr<std::vector<std::int64_t>>(node, "starts"), "starts");
  auto ends = ints_from(items.subspan(static_cast<std::size_t>(split)), input_at(inputs, 2),
                        attr<std::vector<std::int64_t>>(node, "ends"), "ends");
  auto axes = attr<std::vector<std::int64_t>>(node, "axes"),
       steps = attr<std::vector<std::int64_t>>(node, "steps");

  std::vector<SliceDim> dims;
  for (std::int64_t size : x) dims.push_back({.size = size});
  std::vector<bool> seen(x.size(), false);
  if (starts && starts->size() != axes.size()) fail("{} starts for {} axes", starts->size(), axes.size());
  if (ends && ends->size() != axes.size()) fail("{} ends for {} axes", ends->size(), axes.size());
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (steps.size() != axes.size()) fail("{} steps for {} axes", steps.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0 || steps[i] == std::numeric_limits<std::int64_t>::min())
      fail("a slice cannot go in steps of {}", steps[i]);
    auto axis = static_cast<std::size_t>(normalize_axis(axes[i], x.size(), "axes"));
    if (seen[axis]) fail("axes [{}] names dimension {} twice", fmt::join(axes, ","), axis);
    seen[axis] = true;
    dims[axis] =
        slice_dim(starts ? (*starts)[i] : std::nullopt, ends ? (*ends)[i] : std::nullopt, steps[i], x[axis]);
  }
  for (std::int64_t axis : attr<std::vector<std::int64_t>>(node, "decrease_axes")) {
    SliceDim& dim = dims[static_cast<std::size_t>(normalize_axis(axis, x.size(), "decrease_axes"))];
    if (dim.size != 1 && dim.size != kUnknown)
      fail("decrease_axes drops dimension {} of the slice, which has {} elements", axis, dim.size);
    dim.dropped = true;
  }
  return dims;
}

}  // namespace octet::ops
