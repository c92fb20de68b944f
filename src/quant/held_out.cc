#include "quant/held_out.h"

#include <algorithm>

namespace octet::quant {

namespace {

constexpr std::int64_t kOneIn = 5;

// How many pictures of a batch are held out: a fifth of a large one, and one of every few small ones.
std::int64_t held_out_of(std::int64_t index, std::int64_t pictures) {
  if (pictures >= kOneIn) return pictures / kOneIn;
  const std::int64_t every = (kOneIn + pictures - 1) / pictures;
  return index % every == std::min<std::int64_t>(1, every - 1) ? 1 : 0;
}

}  // namespace

bool HeldOut::take_others(const Batches& others, Comm& comm) {
  std::vector<Tensor> inputs;
  for (std::int64_t i = comm.rank(); !sample_.is_full() && others(i, &inputs); i += comm.size())
    sample_.add(i, inputs);
  double found = sample_.is_empty() ? 0 : 1;
  if (comm.size() > 1) comm.all_reduce(std::span<double>(&found, 1));
  return found > 0;
}

void HeldOut::take_part(std::int64_t index, std::vector<Tensor>* inputs) {
  if (inputs->empty() || !can_cut(*inputs)) return;
  const std::int64_t pictures = pictures_in(*inputs), count = held_out_of(index, pictures);
  if (count == 0) return;
  if (taken_.insert(index).second) {
    std::vector<Tensor> part;
    for (const Tensor& input : *inputs) part.push_back(cut(input, pictures - count, count));
    sample_.add(index, part);
  }
  if (count == pictures) return inputs->clear();
  for (Tensor& input : *inputs) input = cut(input, 0, pictures - count);
}

}  // namespace octet::quant
