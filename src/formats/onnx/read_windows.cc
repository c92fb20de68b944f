#include <algorithm>
#include <cmath>

#include "formats/onnx/rows.h"

// Windows over images: convolution, pooling, resizing, padding.
namespace octet::onnx {

namespace {

// [before of each dimension, after of each] as octet has them: pairs, dimension by dimension.
Ints in_pairs(const Ints& pads) {
  Ints pairs;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    pairs.push_back(pads[i]);
    pairs.push_back(pads[i + pads.size() / 2]);
  }
  return pairs;
}

}  // namespace

Attrs window_attrs(const Reader& r, std::size_t axes) {
  auto list = [&](std::string_view name, std::int64_t fallback, std::size_t count) {
    Ints given = r.ints(name).value_or(Ints(count, fallback));
    if (given.size() != count) fail("{} has {} numbers, expected {}", name, given.size(), count);
    return given;
  };
  Attrs attrs = {{"strides", list("strides", 1, axes)}, {"dilations", list("dilations", 1, axes)}};
  const std::string how = r.text("auto_pad", "NOTSET");
  if (how == "NOTSET" || how.empty())
    attrs["paddings"] = in_pairs(list("pads", 0, 2 * axes));
  else if (how == "VALID" || how == "SAME_UPPER" || how == "SAME_LOWER")
    attrs["auto_pad"] = how == "VALID" ? "valid" : how == "SAME_UPPER" ? "same_upper" : "same_lower";
  else
    fail("auto_pad is {}", how);
  return attrs;
}

Attrs with_row(Attrs attrs) {
  for (auto& [name, attr] : attrs) {
    auto* list = std::get_if<Ints>(&attr);
    if (!list) continue;
    const bool pads = name == "paddings";
    list->insert(list->begin(), pads ? 2 : 1, pads || name == "output_padding" ? 0 : 1);
  }
  return attrs;
}

namespace {

ValueId row_of(Reader& r, ValueId line) {
  return r.emit("unsqueeze", {line}, {{"axes", Ints{2}}});
}

ValueId line_of(Reader& r, ValueId row) {
  return r.emit("squeeze", {row}, {{"axes", Ints{2}}, {"strict", true}});
}

void read_conv(Reader& r, const ReadRow& row) {
  const std::size_t axes = r.rank(r.in(1)) - 2;
  if (r.rank(r.in(1)) < 3 || axes > 3) fail("its weights have shape {}", to_string(r.shape(r.in(1))));
  Attrs attrs = window_attrs(r, axes);
  attrs["groups"] = r.integer("group", 1);
  std::vector<ValueId> inputs = {r.in(0), r.in(1)};
  bool general = axes == 3;
  if (row.octet == "conv2d_transpose") {
    if (const auto extra = r.ints("output_padding")) attrs["output_padding"] = *extra;
    if (auto size = r.ints("output_shape")) {  // what is too much is cut off on both sides
      if (size->size() == axes + 2) size->erase(size->begin(), size->begin() + 2);
      attrs["output_size"] = *size;
      general = true;
    }
  }
  const bool is_line = axes == 1 && !general;
  if (is_line) inputs = {row_of(r, inputs[0]), row_of(r, inputs[1])};
  if (r.has(2)) inputs.push_back(r.in(2));
  const char* nd = row.octet == "conv2d" ? "conv_nd" : "conv_nd_transpose";
  if (is_line) attrs = with_row(attrs);
  ValueId y = r.emit(general ? nd : std::string(row.octet), inputs, attrs);
  r.result(is_line ? line_of(r, y) : y);
}

void read_pool(Reader& r, const ReadRow& row) {
  const ValueId x = r.in(0);
  const Ints kernel = r.ints("kernel_shape").value_or(Ints());
  if (kernel.size() + 2 != r.rank(x))
    fail("kernel_shape has {} numbers for x of shape {}", kernel.size(), to_string(r.shape(x)));
  Attrs attrs = window_attrs(r, kernel.size());
  attrs["kernel"] = kernel;
  attrs["type"] = std::string(row.octet);
  if (r.integer("ceil_mode", 0) != 0) attrs["ceil_mode"] = true;
  attrs["exclusive"] = r.integer("count_include_pad", 0) == 0;
  const auto& dilations = std::get<Ints>(attrs["dilations"]);
  const bool is_dense = std::ranges::all_of(dilations, [](std::int64_t d) { return d == 1; });
  const bool is_plain = is_dense && row.octet != "lp" && !r.wants(1) && r.dtype(x) == DType::kFloat32;
  if (is_plain && kernel.size() <= 2) {
    attrs.erase("dilations");
    attrs["convention"] = "onnx";
    if (kernel.size() == 2) return r.result(r.emit("pool2d", {x}, attrs));
    return r.result(line_of(r, r.emit("pool2d", {row_of(r, x)}, with_row(attrs))));
  }
  if (row.octet == "lp") attrs["p"] = r.integer("p", 2);
  if (r.integer("storage_order", 0) != 0) attrs["column_major"] = true;
  const std::vector<ValueId> made = r.emit_multi("pool_nd", {x}, attrs, r.wants(1) ? 2 : 1);
  for (std::size_t i = 0; i < made.size(); ++i) r.result(made[i], i);
}

void read_global_pool(Reader& r, const ReadRow& row) {
  const ValueId x = r.in(0);
  if (r.rank(x) == 4 && r.dtype(x) == DType::kFloat32)
    return r.result(r.emit("pool2d", {x}, {{"type", std::string(row.octet)}, {"global", true}}));
  Ints axes;
  for (std::size_t i = 2; i < r.rank(x); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.empty()) return r.result(x);
  r.result(
      r.emit(row.octet == "avg" ? "reduce_mean" : "reduce_max", {x}, {{"axes", axes}, {"keepdims", true}}));
}

// An input that is there and has elements: files leave one out by an empty name or an empty tensor.
bool has_elements(Reader& r, std::size_t i) {
  if (!r.has(i)) return false;
  const Tensor* constant = r.constant(r.in(i));
  return !constant || constant->size() > 0;
}

std::vector<double> reals_of(const Tensor& tensor) {
  const Tensor numbers = tensor.cast(DType::kFloat64);
  auto list = numbers.data<double>();
  return {list.begin(), list.end()};
}

struct Resize {
  ValueId x = kNoValue, sizes = kNoValue, scales = kNoValue;
  std::string mode, coordinates, nearest;
  Attrs more = {};  // that only resample has
};

ValueId last_two(Reader& r, ValueId list) {
  return r.emit("slice", {list}, {{"axes", Ints{0}}, {"starts", Ints{2}}, {"ends", Ints{4}}});
}

// Whether Paddle's rules give the same points: a side of one pixel is the first one to Paddle, where
// half_pixel takes the middle, and a factor that leaves the size as it is leaves the image as it is.
bool is_as_in_paddle(const Resize& resize, const Attrs& attrs) {
  if (auto it = attrs.find("scale"); it != attrs.end())
    for (double factor : std::get<std::vector<double>>(it->second))
      if (factor < 1 || factor != std::floor(factor)) return false;
  if (resize.scales != kNoValue && resize.sizes == kNoValue && !attrs.contains("scale")) return false;
  if (resize.coordinates == "asymmetric") return resize.mode == "linear" || resize.nearest == "floor";
  if (resize.coordinates != "half_pixel" && resize.coordinates != "pytorch_half_pixel") return false;
  if (resize.mode != "linear") return false;
  if (resize.coordinates == "pytorch_half_pixel" || attrs.contains("scale")) return true;
  auto is_more_than_one = [&](const char* side) {
    auto it = attrs.find(side);
    return it != attrs.end() && std::get<std::int64_t>(it->second) > 1;
  };
  return is_more_than_one("out_h") && is_more_than_one("out_w");
}

// As octet's resize of images, which fast kernels have; false when it is more than that.
bool resize_image(Reader& r, const Resize& resize) {
  if (resize.mode == "cubic" || resize.coordinates == "crop" || !resize.more.empty()) return false;
  if (!r.has_rank(resize.x) || r.rank(resize.x) != 4 || r.dtype(resize.x) != DType::kFloat32) return false;
  Attrs attrs = {{"mode", resize.mode == "linear" ? "bilinear" : "nearest"}};
  std::vector<ValueId> inputs = {resize.x};
  if (resize.sizes != kNoValue) {
    const Tensor* constant = r.constant(resize.sizes);
    const Shape& x = r.shape(resize.x);
    if (constant) {
      const Ints sizes = to_int64s(*constant);
      if (sizes.size() != 4) return false;
      for (std::size_t i : {0, 1})
        if (x[i] != kUnknown && x[i] != sizes[i]) return false;
      attrs["out_h"] = sizes[2];
      attrs["out_w"] = sizes[3];
    } else {
      inputs.push_back(last_two(r, resize.sizes));
    }
  } else if (const Tensor* constant = r.constant(resize.scales)) {
    const std::vector<double> scales = reals_of(*constant);
    if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1) return false;
    attrs["scale"] = std::vector<double>{scales[2], scales[3]};
  } else {
    inputs = {resize.x, kNoValue, last_two(r, resize.scales)};
  }
  // In Paddle's words where they say the same: its files have no others.
  if (is_as_in_paddle(resize, attrs)) {
    attrs["align_mode"] = std::int64_t{resize.coordinates == "asymmetric"};
  } else {
    attrs["coordinates"] = resize.coordinates;
    attrs["nearest"] = resize.nearest;
  }
  r.result(r.emit("resize", inputs, attrs));
  return true;
}

void resize_any(Reader& r, const Resize& resize) {
  Attrs attrs = resize.more;
  attrs["mode"] = resize.mode;
  attrs["coordinates"] = resize.coordinates;
  attrs["nearest"] = resize.nearest;
  std::vector<ValueId> inputs = {resize.x, resize.sizes, resize.scales};
  if (const Tensor* constant = r.constant(resize.sizes)) {
    attrs["sizes"] = to_int64s(*constant);
    inputs[1] = kNoValue;
  }
  if (const Tensor* constant = r.constant(resize.scales)) {
    attrs["scales"] = reals_of(*constant);
    inputs[2] = kNoValue;
  }
  while (inputs.back() == kNoValue) inputs.pop_back();
  r.result(r.emit("resample", inputs, attrs));
}

void read_resize(Reader& r, const ReadRow&) {
  const bool old = r.opset() < 11;  // X and scales; asymmetric and floor
  Resize resize{
      .x = r.in(0), .mode = r.text("mode", "nearest"), .coordinates = "asymmetric", .nearest = "floor"};
  if (old) {
    resize.scales = r.in(1);
  } else {
    const std::string where = r.text("coordinate_transformation_mode", "half_pixel");
    resize.coordinates = where == "tf_crop_and_resize" ? "crop" : where;
    resize.nearest = r.text("nearest_mode", "round_prefer_floor");
    if (has_elements(r, 3))
      resize.sizes = r.in(3);
    else
      resize.scales = r.in(2);
    if (const auto axes = r.ints("axes")) resize.more["axes"] = *axes;
    if (r.integer("antialias", 0) != 0) resize.more["antialias"] = true;
    if (const std::string policy = r.text("keep_aspect_ratio_policy", "stretch"); policy != "stretch")
      resize.more["aspect"] = policy;
    if (resize.mode == "cubic") {
      resize.more["cubic_coeff"] = r.real("cubic_coeff_a", -0.75);
      if (r.integer("exclude_outside", 0) != 0) resize.more["exclude_outside"] = true;
    }
    if (resize.coordinates == "crop") {
      const Tensor* roi = r.has(1) ? r.constant(r.in(1)) : nullptr;
      if (!roi) fail("roi is computed in the run; octet needs a constant");
      resize.more["roi"] = reals_of(*roi);
      resize.more["extrapolation"] = r.real("extrapolation_value", 0);
    }
  }
  if (resize.mode == "bilinear") resize.mode = "linear";
  if (!resize_image(r, resize)) resize_any(r, resize);
}

void read_upsample(Reader& r, const ReadRow&) {
  Resize resize{
      .x = r.in(0), .mode = r.text("mode", "nearest"), .coordinates = "asymmetric", .nearest = "floor"};
  if (resize.mode == "bilinear") resize.mode = "linear";
  if (r.has(1)) {
    resize.scales = r.in(1);
  } else {
    const std::vector<double> scales = r.reals("scales").value_or(std::vector<double>());
    resize.scales =
        r.add(Tensor::of<double>({static_cast<std::int64_t>(scales.size())}, scales).cast(DType::kFloat32));
  }
  if (!resize_image(r, resize)) resize_any(r, resize);
}

// One number a dimension, where only some are named.
Ints spread(const Ints& pads, const Ints& axes, std::size_t rank) {
  Ints all(2 * rank, 0);
  if (pads.size() != 2 * axes.size()) fail("{} pads for {} axes", pads.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(Reader::axis(axes[i], rank));
    all[axis] = pads[i];
    all[rank + axis] = pads[axes.size() + i];
  }
  return all;
}

// The same where the run computes them: zeros, with the pads put where their axes are.
ValueId spread_in_run(Reader& r, ValueId pads, ValueId axes, std::int64_t rank) {
  ValueId before = r.emit("mod", {axes, number(r, static_cast<double>(rank), r.dtype(axes))});
  ValueId after = r.emit("add", {before, number(r, static_cast<double>(rank), r.dtype(axes))});
  ValueId places = r.emit("concat", {kNoValue, before, after}, {{"axis", std::int64_t{0}}});
  ValueId zeros = r.add(Tensor::of<std::int64_t>({2 * rank}, Ints(static_cast<std::size_t>(2 * rank), 0)));
  return r.emit("scatter_elements", {zeros, places, pads}, {{"axis", std::int64_t{0}}});
}

// octet has pairs of before and after, the last dimension first.
void read_pad(Reader& r, const ReadRow&) {
  const std::string mode = r.text("mode", "constant");
  Attrs attrs;
  if (mode == "edge" || mode == "wrap" || mode == "reflect")
    attrs["mode"] = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : "reflect";
  else if (mode != "constant")
    fail("mode is {}", mode);
  std::vector<ValueId> inputs = {r.in(0), kNoValue, r.maybe(2)};
  if (r.find("value")) attrs["value"] = r.real("value", 0);
  if (r.has(1) && (!r.constant(r.in(1)) || (r.has(3) && !r.constant(r.in(3))))) {
    const auto rank = static_cast<std::int64_t>(r.rank(r.in(0)));
    ValueId pads = r.has(3) ? spread_in_run(r, r.in(1), r.in(3), rank) : r.in(1);
    ValueId rows =
        r.emit("transpose", {r.emit("reshape", {pads}, {{"shape", Ints{2, rank}}})}, {{"perm", Ints{1, 0}}});
    ValueId turned =
        r.emit("slice", {rows},
               {{"axes", Ints{0}}, {"starts", Ints{-1}}, {"ends", Ints{-(rank + 1)}}, {"steps", Ints{-1}}});
    inputs[1] = r.emit("reshape", {turned}, {{"shape", Ints{-1}}});
  } else {
    Ints pads = r.list(1, "pads").value_or(Ints());
    if (r.has(3)) pads = spread(pads, r.need_ints(3, "axes"), r.rank(r.in(0)));
    const Ints pairs = in_pairs(pads);
    Ints turned;
    for (std::size_t i = pairs.size(); i >= 2; i -= 2)
      turned.insert(turned.end(), {pairs[i - 2], pairs[i - 1]});
    attrs["paddings"] = turned;
  }
  if (const Tensor* value = r.constant(inputs[2]);
      value && value->dtype() == DType::kFloat32 && value->size() == 1) {
    attrs["value"] = static_cast<double>(value->aligned().data<float>()[0]);
    inputs[2] = kNoValue;
  }
  while (inputs.back() == kNoValue) inputs.pop_back();
  r.result(r.emit("pad", inputs, attrs));
}

void read_grid_sample(Reader& r, const ReadRow&) {
  std::string mode = r.text("mode", r.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  r.result(r.emit("grid_sample", {r.in(0), r.in(1)},
                  {{"mode", mode},
                   {"padding", r.text("padding_mode", "zeros")},
                   {"align_corners", r.integer("align_corners", 0) != 0}}));
}

void read_roi_align(Reader& r, const ReadRow&) {
  // Before opset 16 pixels were their corners.
  const std::string where =
      r.text("coordinate_transformation_mode", r.opset() < 16 ? "output_half_pixel" : "half_pixel");
  r.result(r.emit("roi_align", {r.in(0), r.in(1), r.in(2)},
                  {{"mode", r.text("mode", "avg")},
                   {"out_h", r.integer("output_height", 1)},
                   {"out_w", r.integer("output_width", 1)},
                   {"sampling_ratio", r.integer("sampling_ratio", 0)},
                   {"scale", r.real("spatial_scale", 1)},
                   {"half_pixel", where == "half_pixel"}}));
}

void read_nms(Reader& r, const ReadRow&) {
  std::vector<ValueId> inputs = r.inputs();
  r.result(r.emit("non_max_suppression", inputs, {{"centered", r.integer("center_point_box", 0) != 0}}));
}

}  // namespace

std::vector<ReadRow> window_rows() {
  return {
      {"Conv", 1, "conv2d", read_conv, "along one to three dimensions"},
      {"ConvTranspose", 1, "conv2d_transpose", read_conv, "along one to three dimensions"},
      {"MaxPool", 1, "max", read_pool, "along one to three dimensions"},
      {"AveragePool", 1, "avg", read_pool, "along one to three dimensions"},
      {"LpPool", 2, "lp", read_pool, "along one to three dimensions"},
      {"GlobalMaxPool", 1, "max", read_global_pool},
      {"GlobalAveragePool", 1, "avg", read_global_pool},
      {"Resize", 10, "resize", read_resize, "roi: a constant"},
      {"Upsample", 7, "resize", read_upsample},
      {"Pad", 2, "pad", read_pad},
      {"GridSample", 16, "grid_sample", read_grid_sample},
      {"RoiAlign", 10, "roi_align", read_roi_align},
      {"NonMaxSuppression", 10, "non_max_suppression", read_nms},
  };
}

}  // namespace octet::onnx
