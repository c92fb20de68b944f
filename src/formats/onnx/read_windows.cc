#include <algorithm>
#include <cmath>

#include "formats/onnx/rows.h"

// Windows over images: padding, pooling, resizing.
namespace octet::onnx {

namespace {

// [top, left, bottom, right], or [left, right] of a line, as octet has them: top, bottom, left, right.
Ints octet_pads(const Ints& pads, bool is_line) {
  if (is_line) return {0, 0, pads[0], pads[1]};
  return {pads[0], pads[2], pads[1], pads[3]};
}

Ints with_row(Ints list, bool is_line, std::int64_t row) {
  if (is_line) list.insert(list.begin(), row);
  return list;
}

// How many pads an axis gets that SAME_UPPER or SAME_LOWER decides, before and after.
std::pair<std::int64_t, std::int64_t> divided(std::int64_t total, bool upper) {
  total = std::max<std::int64_t>(total, 0);
  return upper ? std::pair{total / 2, total - total / 2} : std::pair{total - total / 2, total / 2};
}

// The size of x along axis i of the window, with the row of a line; kUnknown before a run.
std::int64_t size_at(const Reader& r, const Window& window, ValueId x, std::size_t i) {
  const Shape& shape = r.shape(x);
  if (window.is_line) return i == 0 ? 1 : shape.size() == 3 ? shape[2] : kUnknown;
  return shape.size() == 4 ? shape[2 + i] : kUnknown;
}

}  // namespace

Window read_window(const Reader& r, Ints kernel, bool is_line) {
  Window window;
  window.is_line = is_line;
  const std::size_t axes = is_line ? 1 : 2;
  auto list = [&](std::string_view name, std::int64_t fallback, std::size_t count) {
    Ints given = r.ints(name).value_or(Ints(count, fallback));
    if (given.size() != count) fail("{} has {} numbers, expected {}", name, given.size(), count);
    return given;
  };
  window.kernel = std::move(kernel);
  window.strides = with_row(list("strides", 1, axes), is_line, 1);
  window.dilations = with_row(list("dilations", 1, axes), is_line, 1);
  window.pads = octet_pads(list("pads", 0, 2 * axes), is_line);
  window.auto_pad = r.text("auto_pad", "NOTSET");
  return window;
}

Attrs pads_of(const Reader& r, const Window& window, ValueId x) {
  const std::string& how = window.auto_pad;
  if (how == "NOTSET" || how.empty()) return {{"paddings", window.pads}};
  if (how == "VALID") return {{"paddings", Ints{0, 0, 0, 0}}};
  if (how != "SAME_UPPER" && how != "SAME_LOWER") fail("auto_pad is {}", how);
  const bool is_dense = window.dilations == Ints{1, 1};
  if (how == "SAME_UPPER" && is_dense) return {{"auto_pad", "same"}};
  Ints pads;
  for (std::size_t i : {0, 1}) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1, stride = window.strides[i];
    const std::int64_t size = size_at(r, window, x, i);
    if (size == kUnknown && stride != 1)
      fail(
          "auto_pad {} with a stride depends on the size of x, which is not known before a run; give the "
          "model's "
          "input shapes",
          how);
    const std::int64_t outputs = stride == 1 ? size : (size + stride - 1) / stride;
    const std::int64_t total = stride == 1 ? reach - 1 : (outputs - 1) * stride + reach - size;
    auto [before, after] = divided(total, how == "SAME_UPPER");
    pads.push_back(before);
    pads.push_back(after);
  }
  return {{"paddings", pads}};
}

Attrs transposed_pads_of(const Reader& r, const Window& window, ValueId x) {
  const std::size_t axes = window.is_line ? 1 : 2;
  const Ints extra = with_row(r.ints("output_padding").value_or(Ints(axes, 0)), window.is_line, 0);
  if (extra.size() != 2) fail("output_padding has {} numbers, expected {}", extra.size(), axes);
  Attrs attrs;
  if (extra != Ints{0, 0}) attrs["output_padding"] = extra;
  std::optional<Ints> wanted = r.ints("output_shape");
  const bool same = window.auto_pad.starts_with("SAME");
  if (!wanted && !same) {
    attrs["paddings"] = window.auto_pad == "VALID" ? Ints{0, 0, 0, 0} : window.pads;
    return attrs;
  }
  if (wanted) {
    if (wanted->size() == axes + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
    if (wanted->size() != axes) fail("output_shape has {} numbers, expected {}", wanted->size(), axes);
    *wanted = with_row(*wanted, window.is_line, 1);
  }
  Ints pads;
  for (std::size_t i : {0, 1}) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1, stride = window.strides[i];
    std::int64_t total = reach + extra[i] - stride;  // the output is the input times the stride
    if (wanted) {
      const std::int64_t size = size_at(r, window, x, i);
      if (size == kUnknown)
        fail(
            "output_shape depends on the size of x, which is not known before a run; give the model's input "
            "shapes");
      total = (size - 1) * stride + reach + extra[i] - (*wanted)[i];
    }
    if (total < 0) {
      // More than the convolution reaches: the rest is filled at the end.
      Ints filled = extra;
      if (attrs.contains("output_padding")) filled = std::get<Ints>(attrs["output_padding"]);
      filled[i] -= total;
      attrs["output_padding"] = filled;
    }
    auto [before, after] = divided(total, window.auto_pad == "SAME_UPPER");
    pads.push_back(before);
    pads.push_back(after);
  }
  attrs["paddings"] = pads;
  return attrs;
}

namespace {

// Runs `pool` on an image of floats: a line gets a row, integers become floats, which hold those of 8 bits
// exactly.
template <class Pool>
void on_image(Reader& r, Pool pool) {
  ValueId x = r.in(0);
  const bool is_line = r.rank(x) == 3;
  if (!is_line && r.rank(x) != 4)
    fail("x has shape {}; octet pools along one or two dimensions", to_string(r.shape(x)));
  const DType dtype = r.dtype(x);
  if (dtype != DType::kFloat32 && dtype != DType::kInt8 && dtype != DType::kUInt8)
    fail("x is {}; octet pools floats and 8-bit integers", octet::name_of(dtype));
  if (dtype != DType::kFloat32) x = r.emit("cast", {x}, {{"dtype", "float32"}});
  if (is_line) x = r.emit("unsqueeze", {x}, {{"axes", Ints{2}}});
  ValueId y = pool(x, is_line);
  if (is_line) y = r.emit("squeeze", {y}, {{"axes", Ints{2}}, {"strict", true}});
  if (dtype != DType::kFloat32) y = r.emit("cast", {y}, {{"dtype", std::string(octet::name_of(dtype))}});
  r.result(y);
}

// With ceil_mode, ONNX leaves out a window that begins behind the image; octet's pools have it.
void check_ceil(const Window& window, const Attrs& attrs) {
  auto it = attrs.find("paddings");
  if (it == attrs.end()) return;
  const Ints& pads = std::get<Ints>(it->second);
  for (std::size_t i : {0, 1})
    if (pads[2 * i + 1] >= (window.kernel[i] - 1) * window.dilations[i] + 1 - window.strides[i] + 1)
      fail("ceil_mode with windows that may begin in the padding at the end");
}

// Zeros around x in place of the pool's own padding: they count.
ValueId padded(Reader& r, ValueId x, Attrs& attrs) {
  auto it = attrs.find("paddings");
  if (it == attrs.end()) fail("count_include_pad with auto_pad, where the padding depends on the size of x");
  const Ints pads = std::get<Ints>(it->second);
  attrs.erase(it);
  if (pads == Ints{0, 0, 0, 0}) return x;
  return r.emit("pad", {x}, {{"paddings", Ints{pads[2], pads[3], pads[0], pads[1]}}});
}

void read_pool(Reader& r, const ReadRow& row) {
  on_image(r, [&](ValueId x, bool is_line) {
    const Ints kernel = with_row(r.ints("kernel_shape").value_or(Ints()), is_line, 1);
    if (kernel.size() != 2) fail("kernel_shape has {} numbers", kernel.size() - (is_line ? 1 : 0));
    Window window = read_window(r, kernel, is_line);
    Attrs attrs = pads_of(r, window, r.in(0));
    attrs["type"] = std::string(row.octet);
    attrs["kernel"] = kernel;
    attrs["strides"] = window.strides;
    if (window.dilations != Ints{1, 1}) attrs["dilations"] = window.dilations;
    if (r.integer("ceil_mode", 0) != 0) {
      check_ceil(window, attrs);
      attrs["ceil_mode"] = true;
    }
    if (row.octet == "avg" && r.integer("count_include_pad", 0) != 0) x = padded(r, x, attrs);
    return r.emit("pool2d", {x}, attrs);
  });
}

void read_global_pool(Reader& r, const ReadRow& row) {
  const ValueId x = r.in(0);
  if (r.rank(x) != 4) {  // along all dimensions behind the channels
    Ints axes;
    for (std::size_t i = 2; i < r.rank(x); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (axes.empty()) return r.result(x);
    return r.result(
        r.emit(row.octet == "avg" ? "reduce_mean" : "reduce_max", {x}, {{"axes", axes}, {"keepdims", true}}));
  }
  on_image(r, [&](ValueId image, bool) {
    return r.emit("pool2d", {image}, {{"type", std::string(row.octet)}, {"global", true}});
  });
}

// The numbers for height and width of a list that has one a dimension; those in front must be `neutral`.
std::vector<double> image_factors(const std::vector<double>& list, const char* what) {
  if (list.size() != 4) fail("{} has {} numbers; octet resizes images, of 4 dimensions", what, list.size());
  if (list[0] != 1 || list[1] != 1) fail("{} change the batch or the channels", what);
  return {list[2], list[3]};
}

ValueId last_two(Reader& r, ValueId list) {
  return r.emit("slice", {list}, {{"axes", Ints{0}}, {"starts", Ints{2}}, {"ends", Ints{4}}});
}

// An input that is there and has elements.
bool has_elements(Reader& r, std::size_t i) {
  if (!r.has(i)) return false;
  const Tensor* constant = r.constant(r.in(i));
  return !constant || constant->size() > 0;
}

struct ResizeSize {
  std::vector<ValueId> inputs;
  Attrs attrs;
};

ResizeSize size_by_scales(Reader& r, ValueId x, ValueId scales) {
  if (const Tensor* constant = r.constant(scales)) {
    const Tensor numbers = constant->cast(DType::kFloat64);
    auto list = numbers.data<double>();
    return {{x}, {{"scale", image_factors({list.begin(), list.end()}, "scales")}}};
  }
  return {{x, kNoValue, last_two(r, scales)}, {}};
}

ResizeSize size_by_sizes(Reader& r, ValueId x, std::size_t i) {
  if (r.constant(r.in(i))) {
    const Ints sizes = r.need_ints(i, "sizes");
    if (sizes.size() != 4) fail("sizes has {} numbers; octet resizes images, of 4 dimensions", sizes.size());
    for (std::size_t k : {0, 1})
      if (r.shape(x)[k] != kUnknown && r.shape(x)[k] != sizes[k])
        fail("sizes change the batch or the channels");
    return {{x}, {{"out_h", sizes[2]}, {"out_w", sizes[3]}}};
  }
  return {{x, last_two(r, r.in(i))}, {}};
}

// Factors that are whole numbers: of pixels that are repeated, all ways to find the nearest agree.
bool repeats_pixels(const Attrs& attrs) {
  auto it = attrs.find("scale");
  if (it == attrs.end()) return false;
  const auto& factors = std::get<std::vector<double>>(it->second);
  return std::all_of(factors.begin(), factors.end(), [](double f) { return f >= 1 && f == std::floor(f); });
}

void set_mode(Attrs& attrs, const std::string& mode, const std::string& where, const std::string& nearest) {
  const bool half = where == "half_pixel" || where == "pytorch_half_pixel";
  if (mode == "nearest") {
    attrs["mode"] = "nearest";
    const bool floor = where == "asymmetric" && nearest == "floor";
    const bool repeated = repeats_pixels(attrs) && ((half && nearest.starts_with("round")) || floor);
    if (where == "align_corners" && nearest == "round_prefer_ceil")
      attrs["align_corners"] = true;
    else if (!floor && !repeated)
      fail("mode nearest with {} and {}", where, nearest);
    return;
  }
  if (mode != "linear") fail("mode is {}", mode);
  attrs["mode"] = "bilinear";
  if (where == "align_corners")
    attrs["align_corners"] = true;
  else if (half)
    attrs["align_mode"] = std::int64_t{0};
  else if (where != "asymmetric")
    fail("coordinate_transformation_mode is {}", where);
}

void read_resize(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const bool old = r.opset() < 11;  // X and scales, asymmetric and floor
  const std::string mode = r.text("mode", "nearest");
  const std::string where = old ? "asymmetric" : r.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = old ? "floor" : r.text("nearest_mode", "round_prefer_floor");
  if (r.find("axes")) fail("it names axes");
  if (r.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    fail("keep_aspect_ratio_policy is not stretch");
  if (r.integer("antialias", 0) != 0) fail("antialias is 1");
  ResizeSize size =
      !old && has_elements(r, 3) ? size_by_sizes(r, x, 3) : size_by_scales(r, x, r.in(old ? 1 : 2));
  set_mode(size.attrs, mode, where, nearest);
  r.result(r.emit("resize", size.inputs, size.attrs));
}

void read_upsample(Reader& r, const ReadRow&) {
  const std::string mode = r.text("mode", "nearest");
  ResizeSize size;
  if (r.has(1))
    size = size_by_scales(r, r.in(0), r.in(1));
  else
    size = {{r.in(0)},
            {{"scale", image_factors(r.reals("scales").value_or(std::vector<double>()), "scales")}}};
  size.attrs["mode"] = mode == "linear" || mode == "bilinear" ? "bilinear" : mode;
  size.attrs["align_mode"] = std::int64_t{1};
  r.result(r.emit("resize", size.inputs, size.attrs));
}

}  // namespace

std::vector<ReadRow> window_rows() {
  return {
      {"MaxPool", 1, "max", read_pool, "along one or two dimensions, without Indices"},
      {"AveragePool", 1, "avg", read_pool, "along one or two dimensions"},
      {"GlobalMaxPool", 1, "max", read_global_pool},
      {"GlobalAveragePool", 1, "avg", read_global_pool},
      {"Resize", 10, "resize", read_resize, "of images"},
      {"Upsample", 7, "resize", read_upsample, "of images"},
  };
}

}  // namespace octet::onnx
