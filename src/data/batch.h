#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/transform.h"
#include "tensor/tensor.h"

namespace octet {

// What is mixed into the pictures of a batch.
struct Mixture {
  std::vector<std::int64_t> labels = {};  // the class of what is mixed into each picture; empty: nothing is
  double share = 0;                       // of that in the result, at most a half
};

// Examples that a network runs on at once.
struct Batch {
  std::int64_t index = 0;            // in its epoch
  Tensor pixels;                     // float32 [N, C, H, W], or int8 where PixelIntegers were asked for
  std::vector<std::int64_t> labels;  // the class of each picture; -1: not known
  Tensor masks;  // uint8 [N, H, W], where the targets are masks; of the files' size if the loader keeps them
  std::vector<SizeChange> changes;   // how the pictures came to their size, which is the same for all of them
  Mixture mixture;                   // where pictures are mixed (data/mix.h)
  std::vector<std::size_t> entries;  // which one of the data set each picture is
  std::vector<std::string> broken;   // a line for each picture on the way here that can't be read

  std::int64_t size() const { return static_cast<std::int64_t>(entries.size()); }
};

// Memory for `count` examples like this one with so many channels, or like an array in place of its picture;
// of int8, if its pixels are to become `integers`, and are 8-bit ones.
void allocate(Batch& batch, const Example& example, const Tensor& array, std::int64_t count,
              int channels = Image::kChannels, const PixelIntegers* integers = nullptr);

// Normalises the picture, or copies the array, to its place in a batch; its mask goes there as well. A batch
// of int8 gets the integers.
void put(Batch& batch, std::size_t place, Example& example, const Tensor& array, Random& random,
         const PreparedTransforms& transforms, const PixelIntegers* integers = nullptr);

}  // namespace octet
