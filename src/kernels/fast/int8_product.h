#pragma once
#include <functional>

#include "graph/ops/geometry.h"
#include "kernels/fast/int8_pack.h"

// Integer convolutions as products of packed weights with rows of pointers into the image.
namespace octet::fast {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Channels-last images in memory as the left side of a product.
struct LhsImage {
  const std::int8_t* data = nullptr;
  std::int64_t pixel = 0, row = 0, image = 0;  // bytes from one to the next
  ops::Window window;                          // its kernel counts the taps that have pointers of their own
  const std::int8_t* padding = nullptr;        // stands for a pixel outside of the image

  // Where each tap of the outputs [first, first + count), counted over all images, lies: of tap t
  // pointers[t * stride + i].
  void point(const simd::Int8Routines& routines, std::int64_t first, std::int64_t count, std::int64_t stride,
             const std::int8_t** pointers) const;
};

// How a product reads the image.
struct LhsPacking {
  bool copied = false;  // to scratch memory
  bool merged = false;  // copied, with its padding: the taps of a kernel's row are one run
};

// The left side of a convolution, with the memory it needs.
class LhsBuffer {
 public:
  LhsBuffer(LhsPacking packing, const ops::Window& window, std::int64_t batch, std::int64_t channels);

  std::size_t bytes() const;
  void fill(const KernelArgs& args, std::byte* memory);  // makes the copy; `image` can be used then

  LhsImage image;

 private:
  void copy(const KernelArgs& args, std::int8_t* to) const;

  ops::Window window_;
  std::int64_t batch_, channels_;
  std::size_t padding_bytes_, copy_bytes_ = 0;
};

// The input whose elements are read right before those of the outputs are written.
constexpr int kResidual = 5;

// Where the results of a node with the inputs x, weight, multiplier, bias?, out_scale?, residual? go; stride
// is left to be set. `epilogue` must outlive it.
simd::Int8Target int8_target(const KernelArgs& args, const Epilogue& epilogue);
// The same target, `elements` further on.
simd::Int8Target advance(simd::Int8Target target, std::int64_t elements);

// How many tasks there should be, at least, for the threads to be done at the same time.
std::int64_t task_count(int threads);

// A piece of the rows of a product.
struct Chunk {
  std::int64_t rows;
  std::int64_t at, stride;  // element (r, c) of it is element at + r * stride + c of the output
};

// A product in chunks of at most chunk_rows rows.
struct Product {
  const PackedProduct& packed;
  std::int64_t chunks = 0, chunk_rows = 0;
  std::function<Chunk(std::int64_t index)> chunk;
  // Fills pointers[s * chunk_rows + r] for the segments s and rows r of a chunk.
  std::function<void(std::int64_t index, const std::int8_t** pointers)> point;
};

// The rows of a chunk, so many that its left side and its results stay in the L2 cache while the panels go
// over it.
std::int64_t chunk_rows(const KernelArgs& args, const PackedProduct& packed, std::int64_t rows);

// Bytes of scratch memory that run_product needs.
std::size_t product_scratch(const PackedProduct& packed, std::int64_t chunk_rows, int threads);

// Inputs 4 and 5 of the node are out_scale and residual.
void run_product(const KernelArgs& args, const Product& product, std::byte* scratch);

// The rows of the table that other files have.
Implementation int8_depthwise();
Implementation int8_transpose();
Implementation int8_winograd();

}  // namespace octet::fast
