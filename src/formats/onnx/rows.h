#pragma once
#include <vector>

#include "formats/onnx/reader.h"

// The rows of the import table, by family, and what several of them need.
namespace octet::onnx {

std::vector<ReadRow> numeric_rows();
std::vector<ReadRow> normalization_rows();
std::vector<ReadRow> window_rows();
std::vector<ReadRow> shape_rows();
std::vector<ReadRow> sequence_rows();
std::vector<ReadRow> quantization_rows();

ValueId number(Reader& r, double value, DType dtype = DType::kFloat32);
ValueId shape_of(Reader& r, ValueId x);  // in int64

// strides, dilations, paddings and auto_pad of what slides a window over `axes` dimensions, as octet has
// them.
Attrs window_attrs(const Reader& r, std::size_t axes);
// Those of a line, which octet convolves and pools as an image of one row.
Attrs with_row(Attrs attrs);

}  // namespace octet::onnx
