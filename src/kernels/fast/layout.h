#pragma once
#include "kernels/blocks.h"
#include "kernels/fast/fast.h"
#include "kernels/simd/simd.h"

// Where the elements of a tensor lie: in the order of its dims, or with the channels of an image last.
namespace octet::fast {

// Whether a tensor of the node lies in memory as N H W C.
inline bool is_channels_last(const KernelArgs& args, const Tensor& tensor) {
  return args.layout == Layout::kChannelsLast && tensor.rank() == 4;
}

// A tensor's dims in the order of memory, and where each of its own dims went.
struct MemoryDims {
  Shape dims;
  std::vector<std::size_t> order;  // dims[i] is dim order[i] of the tensor

  MemoryDims(const Shape& shape, bool channels_last) {
    if (channels_last)
      order = {0, 2, 3, 1};
    else
      for (std::size_t i = 0; i < shape.size(); ++i) order.push_back(i);
    for (std::size_t i : order) dims.push_back(shape[i]);
  }
  // Which of `dims` an axis of the tensor is.
  std::int64_t axis(std::int64_t of_tensor) const {
    return std::find(order.begin(), order.end(), static_cast<std::size_t>(of_tensor)) - order.begin();
  }
};

// For each dim of the tensor, how many elements apart its neighbours lie.
inline Shape memory_strides(const Shape& shape, bool channels_last) {
  MemoryDims memory(shape, channels_last);
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= memory.dims[i]) strides[memory.order[i]] = step;
  return strides;
}

}  // namespace octet::fast
