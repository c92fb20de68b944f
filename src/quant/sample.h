#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace octet::quant {

// A few inputs of the model, in parts that are small enough to keep every tensor of a run in memory.
using Sample = std::vector<std::vector<Tensor>>;

std::int64_t pictures_in(const Sample& sample);

// Adds the first pictures of a batch to the sample until it has `limit`.
void add_to_sample(Sample* sample, const std::vector<Tensor>& inputs, std::int64_t limit);

// For a file or another process: the parts, and the batch that each is of. A line of JSON with the shapes,
// and the float32 values behind it.
std::string sample_to_bytes(const Sample& sample, const std::vector<std::int64_t>& batches);
std::vector<std::pair<std::int64_t, std::vector<Tensor>>> sample_from_bytes(std::string_view bytes);

}  // namespace octet::quant
