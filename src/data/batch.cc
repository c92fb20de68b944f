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

void allocate(Batch& batch, const Example& example, const Tensor& array, std::int64_t count, int channels,
              const PixelIntegers* integers) {
  const bool is_integer = integers && array.empty() && !example.is_float();
  Shape shape = array.empty() ? Shape{channels, example.height(), example.width()} : array.shape();
  shape.insert(shape.begin(), count);
  batch.pixels = Tensor(is_integer ? DType::kInt8 : DType::kFloat32, shape);
  if (const Mask* mask = example.mask())
    batch.masks = Tensor(DType::kUInt8, {count, mask->height, mask->width});
  batch.changes = example.changes;
}

void put(Batch& batch, std::size_t place, Example& example, const Tensor& array, Random& random,
         const PreparedTransforms& transforms, const PixelIntegers* integers) {
  if (batch.pixels.dtype() == DType::kInt8)
    look_up(*integers, example.image.pixels, part_of<std::int8_t>(batch.pixels, place));
  else if (array.empty())
    transforms.apply_to_planes(example, random, part_of<float>(batch.pixels, place));
  else
    std::memcpy(part_of<float>(batch.pixels, place).data(), array.bytes().data(), array.size_bytes());
  if (const Mask* mask = example.mask())
    std::ranges::copy(mask->pixels, part_of<std::uint8_t>(batch.masks, place).begin());
}

}  // namespace octet
