#pragma once
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/file.h"
#include "tensor/tensor.h"

// NumPy's array files, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//   Tensor x = load_npy("x.npy");
//   save_npy("y.npy", y);

namespace octet {

// An array in row-major order is a view of the mapped file; one in Fortran order is transposed into a copy.
Tensor load_npy(const std::filesystem::path& path);
// The same for bytes in memory, kept alive by `owner`; `source` is what errors call them.
Tensor read_npy(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source);

// Writes, byte for byte, the file that numpy.save writes. There is no bfloat16 in NumPy: cast it first.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);
void add_npy(AtomicFiles& files, const std::filesystem::path& path, const Tensor& tensor);

// What .npy files and pickled arrays have in common.
//
// A type code is a kind and a size: "f4", "i8", "b1". NumPy has no code for bfloat16.
bool parse_numpy_code(std::string_view code, DType* dtype);
std::string_view numpy_code(DType dtype);  // "" for bfloat16

// The bytes of a NumPy array as a tensor: a view, unless they have to be rearranged. An Error, which starts
// with `source`, when their number is not what the shape needs.
Tensor from_numpy(DType dtype, Shape shape, bool fortran_order, Bytes bytes,
                  std::shared_ptr<const void> owner, std::string_view source);

}  // namespace octet
