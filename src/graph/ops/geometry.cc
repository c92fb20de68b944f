#include "graph/ops/geometry.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/attrs.h"

namespace octet::ops {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMaxSide = std::int64_t{1} << 31;

void check_image(std::int64_t height, std::int64_t width) {
  for (std::int64_t side : {height, width})
    if (side != kUnknown && (side < 1 || side > kMaxSide))
      fail("an image of {}x{} has no sensible size", height, width);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Fills the padding that auto_pad asks for; needs in, kernel and stride.
void apply_auto_pad(WindowAxis& axis, std::string_view mode) {
  if (mode == "explicit") return;
  axis.before = axis.after = 0;
  if (mode == "valid") return;
  if (mode == "same") axis.dilation = 1;
  if (axis.in == kUnknown || axis.kernel == kUnknown) return;
  std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
  std::int64_t total =
      std::max<std::int64_t>((ceil_div(axis.in, axis.stride) - 1) * axis.stride + extent - axis.in, 0);
  axis.before = mode == "same_lower" ? total - total / 2 : total / 2;
  axis.after = total - axis.before;
}

// Strides, dilations and explicit paddings, which conv2d and conv2d_transpose have in common.
Window conv_attributes(const Node& node, std::int64_t in_h, std::int64_t in_w, std::int64_t kernel_h,
                       std::int64_t kernel_w) {
  Ints strides = attr<Ints>(node, "strides"), dilations = attr<Ints>(node, "dilations"),
       pads = attr<Ints>(node, "paddings");
  check_image(in_h, in_w);
  for (std::int64_t kernel : {kernel_h, kernel_w})
    if (kernel != kUnknown && (kernel < 1 || kernel > kMaxExtent))
      fail("the kernel is {}x{}, expected sizes from 1 to {}", kernel_h, kernel_w, kMaxExtent);
  Window window;
  window.y = {in_h, kernel_h, strides[0], dilations[0], pads[0], pads[1], kUnknown};
  window.x = {in_w, kernel_w, strides[1], dilations[1], pads[2], pads[3], kUnknown};
  std::string mode = attr<std::string>(node, "auto_pad");
  apply_auto_pad(window.y, mode);
  apply_auto_pad(window.x, mode);
  return window;
}

// What is cut off the output of a transposed convolution so that it is `stride` times as large as the input.
void pad_transpose(WindowAxis& axis, std::string_view mode, std::int64_t extra) {
  std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
  std::int64_t total = std::max<std::int64_t>(extent + extra - axis.stride, 0);
  axis.before = mode == "same_lower" ? total - total / 2 : total / 2;
  axis.after = total - axis.before;
}

// The output size of a sliding window over a padded image.
std::int64_t sliding_size(const WindowAxis& axis, bool ceil_mode) {
  if (axis.in == kUnknown || axis.kernel == kUnknown) return kUnknown;
  std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
  std::int64_t room = axis.in + axis.before + axis.after - extent;
  if (room < 0)
    fail("a window of {} does not fit into an image of {} with paddings of {} and {}", extent, axis.in,
         axis.before, axis.after);
  return (ceil_mode ? ceil_div(room, axis.stride) : room / axis.stride) + 1;
}

}  // namespace

Window conv_window(const Node& node, std::int64_t in_h, std::int64_t in_w, std::int64_t kernel_h,
                   std::int64_t kernel_w) {
  Window window = conv_attributes(node, in_h, in_w, kernel_h, kernel_w);
  window.y.out = sliding_size(window.y, false);
  window.x.out = sliding_size(window.x, false);
  return window;
}

Window conv_transpose_window(const Node& node, std::int64_t in_h, std::int64_t in_w, std::int64_t kernel_h,
                             std::int64_t kernel_w) {
  Window window = conv_attributes(node, in_h, in_w, kernel_h, kernel_w);
  Ints extra = attr<Ints>(node, "output_padding");
  Ints size = attr<Ints>(node, "output_size");
  std::string mode = attr<std::string>(node, "auto_pad");

  std::size_t i = 0;
  for (WindowAxis* axis : {&window.y, &window.x}) {
    if (axis->kernel != kUnknown && (mode == "same_upper" || mode == "same_lower"))
      pad_transpose(*axis, mode, extra.empty() ? 0 : extra[i]);
    if (axis->in != kUnknown && axis->kernel != kUnknown) {
      axis->out = (axis->in - 1) * axis->stride - axis->before - axis->after +
                  axis->dilation * (axis->kernel - 1) + 1;
      if (!extra.empty() && size.empty()) {
        if (extra[i] >= std::max(axis->stride, axis->dilation))
          fail("output_padding {} is not smaller than the stride {} or the dilation {}", extra[i],
               axis->stride, axis->dilation);
        axis->out += extra[i];
      }
      if (!size.empty() && (size[i] < axis->out || size[i] >= axis->out + axis->stride))
        fail("output_size {} is not in [{}, {})", size[i], axis->out, axis->out + axis->stride);
      if (axis->out < 1 && size.empty()) fail("the paddings leave nothing of the output");
    }
    if (!size.empty()) axis->out = size[i];
    ++i;
  }
  return window;
}

Window pool_window(const Node& node, std::int64_t in_h, std::int64_t in_w) {
  Ints kernel = attr<Ints>(node, "kernel"), strides = attr<Ints>(node, "strides"),
       pads = attr<Ints>(node, "paddings");
  std::string mode = attr<std::string>(node, "auto_pad");
  bool drops_outside = attr<bool>(node, "ceil_mode") && attr<std::string>(node, "convention") == "onnx";
  check_image(in_h, in_w);
  Window window;
  window.y = {in_h, kernel[0], strides[0], 1, pads[0], pads[1], kernel[0]};
  window.x = {in_w, kernel[1], strides[1], 1, pads[2], pads[3], kernel[1]};
  for (WindowAxis* axis : {&window.y, &window.x}) {
    if (attr<bool>(node, "global")) {
      *axis = {axis->in, axis->in, 1, 1, 0, 0, 1};
    } else if (!attr<bool>(node, "adaptive")) {
      apply_auto_pad(*axis, mode);
      // As in Paddle, a window that is larger than the image by less than a stride pools what there is.
      bool larger = axis->in != kUnknown && axis->kernel > axis->in + axis->before + axis->after &&
                    axis->kernel - axis->stride < axis->in + axis->before + axis->after;
      axis->out = larger ? 1 : sliding_size(*axis, attr<bool>(node, "ceil_mode"));
      if (drops_outside && axis->out > 1 && (axis->out - 1) * axis->stride >= axis->in + axis->before)
        --axis->out;
    }
  }
  return window;
}

std::optional<std::array<float, 2>> resize_factors(const Node& node, const Tensor* input) {
  std::vector<float> factors;
  if (input) {
    if (input->dtype() != DType::kFloat32) fail("scale is {}, expected float32", name_of(input->dtype()));
    if (input->size() == 1 || input->size() == 2) {
      auto data = input->data<float>();
      factors.assign(data.begin(), data.end());
    } else {
      fail("scale has {} elements, expected one or two", input->size());
    }
  } else {
    for (double factor : attr<std::vector<double>>(node, "scale"))
      factors.push_back(static_cast<float>(factor));
    if (factors.empty()) return std::nullopt;
  }
  for (float factor : factors)
    if (!(factor > 0) || !std::isfinite(factor)) fail("scale is {}, expected a number above 0", factor);
  return std::array<float, 2>{factors.front(), factors.back()};
}

std::int64_t scaled_size(std::int64_t in, float factor) {
  if (in == kUnknown) return kUnknown;
  float size = static_cast<float>(in) * factor;
  if (!(size >= 1) || size > static_cast<float>(kMaxExtent))
    fail("an image side of {} resized by {} is not a size between 1 and {}", in, factor, kMaxExtent);
  return static_cast<std::int64_t>(size);
}

std::int64_t checked_size(std::int64_t size) {
  if (size < 1 || size > kMaxExtent) fail("the output size {} is not between 1 and {}", size, kMaxExtent);
  return size;
}

}  // namespace octet::ops
