#pragma once
#include <array>
#include <optional>

#include "graph/graph.h"

// Where windows lie on an image: what the shape inference and the kernels of convolution, pooling and
// resizing both need to know. The functions read a node's attributes, which check_attributes has seen, and
// fail when they don't fit the image.
namespace octet::ops {

// One axis of a sliding window. Output i covers the input at i*stride - before + j*dilation, j in [0,
// kernel).
struct WindowAxis {
  std::int64_t in = kUnknown;
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // padding
  std::int64_t out = kUnknown;
};

struct Window {
  WindowAxis y, x;
};

// The window of conv2d and qconv2d for a kernel of kernel_h x kernel_w. Sizes may be kUnknown; then so is
// what depends on them.
Window conv_window(const Node& node, std::int64_t in_h, std::int64_t in_w, std::int64_t kernel_h,
                   std::int64_t kernel_w);

// The same for conv2d_transpose: seen from its output, so that input i touches the output at
// i*stride - before + j*dilation.
Window conv_transpose_window(const Node& node, std::int64_t in_h, std::int64_t in_w, std::int64_t kernel_h,
                             std::int64_t kernel_w);

// The window of pool2d and qpool2d. global: the kernel is the image. adaptive: `out` is the kernel attribute
// and the other fields mean nothing.
Window pool_window(const Node& node, std::int64_t in_h, std::int64_t in_w);

// The factors (h, w) that a resize node was given by its scale input or attribute; nothing when by neither.
// `input` is that input, or null.
std::optional<std::array<float, 2>> resize_factors(const Node& node, const Tensor* input);

// floor(in * factor) in float, as Paddle computes it; fails when that is no sensible size.
std::int64_t scaled_size(std::int64_t in, float factor);
// `size` when it is one that an image can have; fails otherwise.
std::int64_t checked_size(std::int64_t size);

}  // namespace octet::ops
