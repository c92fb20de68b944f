#include "quant/window.h"

#include <algorithm>
#include <cmath>

#include "graph/op_table.h"

namespace octet::quant {

namespace {

constexpr std::int64_t kMultiple = 32;  // of both sides: what networks halve five times stays whole

std::int64_t shortened(std::int64_t side, double factor) {
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(side) * factor) / kMultiple * kMultiple;
  return std::min(side, std::max(wanted, kMultiple));
}

// Spread evenly over the places where a window can lie, and elsewhere for each number.
std::int64_t place(std::int64_t room, std::int64_t number, double step) {
  const double share = static_cast<double>(number) * step - std::floor(static_cast<double>(number) * step);
  return static_cast<std::int64_t>(share * static_cast<double>(room + 1));
}

}  // namespace

std::int64_t window_pixels(const Graph& graph) {
  constexpr std::int64_t kSide = 256;
  if (graph.inputs.size() != 1) return 0;
  Graph tried = graph;
  Shape& input = tried.value(tried.inputs[0]).shape;
  if (input.size() != 4 || input[2] != kUnknown || input[3] != kUnknown) return 0;
  input[2] = input[3] = kSide;
  infer_shapes(tried);
  double bytes = 0;
  for (const Node& node : tried.nodes)
    for (ValueId id : node.outputs) {
      Shape shape = tried.value(id).shape;
      if (!shape.empty() && shape[0] == kUnknown) shape[0] = 1;  // no declared batch is binding
      if (std::ranges::find(shape, kUnknown) == shape.end())
        bytes += static_cast<double>(element_count(shape)) * sizeof(float);
    }
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(kSide * kSide * kWindowBytes / std::max(bytes, 1.0)), 1);
}

Tensor window_of(const Tensor& pictures, std::int64_t pixels, std::int64_t number) {
  if (pictures.rank() != 4) return pictures;
  const std::int64_t height = pictures.dim(2), width = pictures.dim(3),
                     size = static_cast<std::int64_t>(pictures.size_bytes()) /
                            std::max<std::int64_t>(pictures.size(), 1);
  if (height * width <= pixels) return pictures;
  const double factor = std::sqrt(static_cast<double>(pixels) / static_cast<double>(height * width));
  const std::int64_t rows = shortened(height, factor), columns = shortened(width, factor);
  // The golden ratio and the square root of two: no two windows of a few dozen lie in the same place.
  const std::int64_t top = place(height - rows, number, 0.6180339887498949),
                     left = place(width - columns, number, 0.4142135623730951);
  Tensor result(pictures.dtype(), {pictures.dim(0), pictures.dim(1), rows, columns});
  const std::byte* from = pictures.bytes().data();
  std::byte* to = result.mutable_bytes().data();
  for (std::int64_t plane = 0; plane < pictures.dim(0) * pictures.dim(1); ++plane)
    for (std::int64_t y = 0; y < rows; ++y, to += columns * size)
      std::copy_n(from + ((plane * height + top + y) * width + left) * size, columns * size, to);
  return result;
}

}  // namespace octet::quant
