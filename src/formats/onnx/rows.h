#pragma once
#include <vector>

#include "formats/onnx/reader.h"

// The rows of the import table, by family, and what several of them need.
namespace octet::onnx {

std::vector<ReadRow> numeric_rows();
std::vector<ReadRow> window_rows();
std::vector<ReadRow> shape_rows();
std::vector<ReadRow> quantization_rows();

// The attributes of what slides a window over an image. Those of a line are given the row that it gets in
// front.
struct Window {
  Ints kernel, strides, dilations;
  Ints pads;  // top, bottom, left, right
  std::string auto_pad;
  bool is_line = false;
};
Window read_window(const Reader& r, Ints kernel, bool is_line);

// paddings and auto_pad of a convolution or pool that reads x.
Attrs pads_of(const Reader& r, const Window& window, ValueId x);
// The same of a transposed convolution, with output_padding.
Attrs transposed_pads_of(const Reader& r, const Window& window, ValueId x);

}  // namespace octet::onnx
