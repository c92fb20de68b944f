#include "data/batch.h"

#include <algorithm>
#include <cstring>

namespace octet {

namespace {

// The part of a tensor that belongs to one of its pictures.
template <class T>
std::span<T> part_of(Tensor& tensor, std::size_t place) {
  const auto size = static_cast<std::size_t>(tensor.size() / tensor.dim(0));
  return tensor.mutable_data<T>().subspan(place * size, size);
}

}  // namespace

void allocate(Batch& batch, const Example& example, const Tensor& array, std::int64_t count, int channels) {
  Shape shape = array.empty() ? Shape{channels, example.height(), example.width()} : array.shape();
  shape.insert(shape.begin(), count);
  batch.pixels = Tensor(DType::kFloat32, shape);
  if (const Mask* mask = example.mask())
    batch.masks = Tensor(DType::kUInt8, {count, mask->height, mask->width});
  batch.changes = example.changes;
}

void put(Batch& batch, std::size_t place, Example& example, const Tensor& array, Random& random,
         const PreparedTransforms& transforms) {
  const std::span<float> planes = part_of<float>(batch.pixels, place);
  if (array.empty())
    transforms.apply_to_planes(example, random, planes);
  else
    std::memcpy(planes.data(), array.bytes().data(), planes.size_bytes());
  if (const Mask* mask = example.mask())
    std::ranges::copy(mask->pixels, part_of<std::uint8_t>(batch.masks, place).begin());
}

}  // namespace octet
