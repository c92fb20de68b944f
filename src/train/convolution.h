#pragma once
#include <array>
#include <optional>

#include "graph/graph.h"
#include "train/torch.h"

namespace octet::train {

// What a 2-D convolution is told, height first.
struct ConvGeometry {
  std::array<std::int64_t, 2> stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;
};

// That of a conv2d node. libtorch pads evenly only: where the node does not, `x` is padded here.
ConvGeometry conv_geometry(const Node& node, at::Tensor& x, const at::Tensor& weight);

// at::conv2d, with a faster backward pass where libtorch's is slow on a CPU without AVX-512: oneDNN computes
// the gradient of depthwise weights channel by channel with im2col, which takes half of the time of a step of
// MobileNet; and that of weights which see a few pixels only takes it ten times as long as it should, half of
// the time of a step of ResNet on small pictures.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       const ConvGeometry& geometry);

struct ConvGradients {
  at::Tensor x, weight, bias;
};
ConvGradients convolution_backward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                   bool has_bias, const ConvGeometry& geometry, bool needs_x = true);

}  // namespace octet::train
