#include "train/window_ops.h"

#include <algorithm>
#include <limits>

#include "graph/ops/geometry.h"
#include "graph/ops/window.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/pad.h"
#include "train/bilinear.h"
#include "train/convert.h"
#include "train/infos.h"

namespace octet::train {

using Ints = std::vector<std::int64_t>;

at::Tensor pool2d(const Call& call) {
  const at::Tensor& x = call.x();
  const Node& node = call.node;
  const bool is_max = attr<std::string>(node, "type") == "max";
  const ops::Window window = ops::pool_window(node, x.size(2), x.size(3));
  if (attr<bool>(node, "adaptive")) {
    if (is_max) return std::get<0>(at::adaptive_max_pool2d(x, {window.y.out, window.x.out}));
    return at::adaptive_avg_pool2d(x, {window.y.out, window.x.out});
  }
  if (attr<bool>(node, "global"))
    return is_max ? at::amax(x, {2, 3}, true) : at::adaptive_avg_pool2d(x, {1, 1});

  // What the window needs on each side; libtorch pads evenly and little, so the padding is written out.
  const auto behind = [](const ops::WindowAxis& axis) {
    return (axis.out - 1) * axis.stride + axis.kernel - axis.in - axis.before;
  };
  const std::int64_t below = std::max<std::int64_t>(behind(window.y), 0),
                     right = std::max<std::int64_t>(behind(window.x), 0);
  const Ints kernel = {window.y.kernel, window.x.kernel}, strides = {window.y.stride, window.x.stride};
  const bool is_padded = window.y.before > 0 || window.x.before > 0 || below > 0 || right > 0;
  const auto cut = [&](const at::Tensor& y) { return y.slice(2, 0, window.y.out).slice(3, 0, window.x.out); };
  const Ints pads = {window.x.before, right, window.y.before, below};
  if (is_max) {
    // 16 bits can't hold the lowest float.
    const double lowest = x.scalar_type() == at::kFloat ? std::numeric_limits<float>::lowest()
                                                        : -std::numeric_limits<double>::infinity();
    return cut(at::max_pool2d(is_padded ? at::constant_pad_nd(x, pads, lowest) : x, kernel, strides));
  }
  if (!is_padded) return cut(at::avg_pool2d(x, kernel, strides));
  const at::Tensor sums =
      cut(at::avg_pool2d(at::constant_pad_nd(x, pads), kernel, strides, {0, 0}, false, true, 1));
  // How many elements of each window count.
  const bool exclusive = attr<bool>(node, "exclusive"),
             onnx = attr<std::string>(node, "convention") == "onnx";
  const auto counts = [&](const ops::WindowAxis& axis) {
    std::vector<float> count;
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const std::int64_t begin = i * axis.stride - axis.before;
      const std::int64_t low = exclusive ? std::max<std::int64_t>(begin, 0) : begin;
      const std::int64_t high = std::min(begin + axis.kernel, axis.in + (exclusive ? 0
                                                                         : onnx    ? axis.after
                                                                                   : axis.before));
      count.push_back(static_cast<float>(std::max<std::int64_t>(high - low, 1)));
    }
    return at::tensor(count, at::kFloat).to(x.options());
  };
  return sums / (counts(window.y).view({-1, 1}) * counts(window.x).view({1, -1}));
}

at::Tensor resize(const Call& call) {
  const at::Tensor& x = call.x();
  const Infos infos(call);
  const ValueInfo* scale = infos.get().size() > 2 ? infos.get()[2] : nullptr;
  const ref::ResizePlan plan =
      ref::plan_resize(call.node, x.sizes().vec(), ops::resize_shape(call.node, infos.get()),
                       scale ? scale->data : nullptr, infos.get().size() > 3);
  if (plan.bilinear) return bilinear(x, plan);
  const auto chosen = [&](const at::Tensor& from, std::int64_t dim,
                          const std::vector<ref::ResizePoint>& points) {
    Ints places;
    for (const ref::ResizePoint& point : points) places.push_back(point.first);
    return from.index_select(dim, at::tensor(places, at::kLong).to(x.device()));
  };
  return chosen(chosen(x, 2, plan.rows), 3, plan.columns);
}

at::Tensor pad(const Call& call) {
  const at::Tensor& x = call.x();
  Ints pads = call.optional(1) ? to_int64s(from_torch(call.inputs[1])) : attr<Ints>(call.node, "paddings");
  pads.resize(std::min(pads.size(), 2 * static_cast<std::size_t>(x.dim())));
  const std::string mode = attr<std::string>(call.node, "mode");
  if (mode == "constant") {
    const at::Tensor* value = call.optional(2);
    return at::constant_pad_nd(x, pads, value ? value->item() : at::Scalar(attr<double>(call.node, "value")));
  }
  at::Tensor y = x;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    const std::int64_t dim = x.dim() - 1 - static_cast<std::int64_t>(i), before = pads[2 * i],
                       after = pads[2 * i + 1];
    if (before == 0 && after == 0) continue;
    const Ints sources = ref::pad_sources(x.size(dim), x.size(dim) + before + after, before, mode);
    y = y.index_select(dim, at::tensor(sources, at::kLong).to(x.device()));
  }
  return y;
}

}  // namespace octet::train
