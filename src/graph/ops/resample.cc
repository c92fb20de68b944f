#include "graph/ops/resample.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/geometry.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace octet::ops {

namespace {

std::vector<std::size_t> axes_of(const Node& node, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (std::int64_t axis : attr<IntList>(node, "axes")) {
    axes.push_back(static_cast<std::size_t>(normalize_axis(axis, rank, "axes")));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) fail("axes names dimension {} twice", axis);
  }
  if (attr<IntList>(node, "axes").empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

// Sizes that were asked for, or, so that the picture is not stretched, those of one factor.
void apply_sizes(const Node& node, const Shape& x, const std::vector<std::size_t>& axes,
                 const MaybeInts& sizes, std::vector<ResampleAxis>& result) {
  std::string aspect = attr<std::string>(node, "aspect");
  double common = 0;
  bool known = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResampleAxis& axis = result[i];
    known = known && sizes[i] && axis.in != kUnknown;
    axis.out = sizes[i] ? checked_size(*sizes[i]) : kUnknown;
    if (axis.in == kUnknown || axis.out == kUnknown) continue;
    checked_size(axis.in);
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    axis.width = static_cast<double>(axis.out);
    bool replaces = i == 0 || (aspect == "not_larger" ? axis.scale < common : axis.scale > common);
    if (replaces) common = axis.scale;
  }
  if (aspect == "stretch") return;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResampleAxis& axis = result[i];
    axis.out = kUnknown;
    if (!known) continue;
    axis.scale = common;
    axis.width = common * static_cast<double>(x[axes[i]]);
    axis.out = checked_size(static_cast<std::int64_t>(std::floor(axis.width + 0.5)));
  }
}

void infer_resample(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  Shape out = inputs[0]->shape;
  for (const ResampleAxis& axis : resample_axes(node, inputs)) out[axis.axis] = axis.out;
  outputs[0] = {DType::kFloat32, std::move(out)};
}

}  // namespace

std::vector<ResampleAxis> resample_axes(const Node& node, Inputs inputs) {
  const Shape& x = inputs[0]->shape;
  std::vector<std::size_t> axes = axes_of(node, x.size());
  std::vector<ResampleAxis> result;
  for (std::size_t axis : axes) result.push_back({axis, x[axis], kUnknown, 1, 1});
  auto roi = attr<std::vector<double>>(node, "roi");
  if (!roi.empty() && roi.size() != 2 * axes.size())
    fail("roi has {} numbers, expected a begin and an end for each of {} axes", roi.size(), axes.size());
  for (std::size_t i = 0; !roi.empty() && i < axes.size(); ++i) {
    result[i].crop_begin = roi[i];
    result[i].crop_end = roi[axes.size() + i];
  }

  const ValueInfo *sizes = input_at(inputs, 1), *scales = input_at(inputs, 2);
  auto size_attr = attr<IntList>(node, "sizes");
  if (sizes || !size_attr.empty()) {
    std::optional<MaybeInts> given = ints_from({}, sizes, size_attr, "sizes");
    if (given && given->size() != axes.size()) fail("{} sizes for {} axes", given->size(), axes.size());
    apply_sizes(node, x, axes, given ? *given : MaybeInts(axes.size()), result);
    return result;
  }
  auto factors = attr<std::vector<double>>(node, "scales");
  if (scales) {
    require_float(*scales, "scales");
    require_vector(*scales, "scales", static_cast<std::int64_t>(axes.size()));
    if (!scales->data) return result;
    factors.clear();
    for (float factor : scales->data->data<float>()) factors.push_back(static_cast<double>(factor));
  }
  if (factors.size() != axes.size()) fail("{} scales for {} axes", factors.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto factor = static_cast<float>(factors[i]);
    if (!(factor > 0) || !std::isfinite(factor)) fail("scale is {}, expected a number above 0", factor);
    result[i].scale = static_cast<double>(factor);
    if (x[axes[i]] == kUnknown) continue;
    result[i].out = scaled_size(x[axes[i]], factor);
    result[i].width = static_cast<double>(factor) * static_cast<double>(x[axes[i]]);
  }
  return result;
}

std::vector<OpSpec> resample() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {{.name = "resample",
           .inputs = {"x", "sizes?", "scales?"},
           .attrs = {{"mode", std::string("nearest"), words({"nearest", "linear", "cubic"})},
                     coordinates_attr("half_pixel"),
                     nearest_attr(),
                     number_attr("cubic_coeff", -0.75),
                     flag("exclude_outside", false),
                     flag("antialias", false),
                     number_attr("extrapolation", 0),
                     {"aspect", std::string("stretch"), words({"stretch", "not_larger", "not_smaller"})},
                     axes_attr("axes"),
                     {"roi",
                      std::vector<double>{},
                      {.min = -kInfinity, .max = kInfinity, .max_count = 2 * kMaxRank}},
                     {"sizes", IntList{}, between(1, kMaxExtent)},
                     {"scales", std::vector<double>{}, anything()}},
           .infer = infer_resample,
           .check =
               [](const Graph&, const Node& node) {
                 if (attr<std::string>(node, "coordinates") == "paddle")
                   fail("resample has no coordinates \"paddle\"; op resize has");
               },
           .kind = OpKind::kResize,
           .trainable = false}};
}

}  // namespace octet::ops
