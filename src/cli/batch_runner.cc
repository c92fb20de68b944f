#include "cli/batch_runner.h"

#include <algorithm>
#include <cstring>

namespace octet::cli {

namespace {

constexpr std::int64_t kGoodPart = 8;  // larger ones leave the cache

// Some of the pictures of a batch, where they are.
Tensor pictures_of(const Tensor& batch, std::int64_t first, std::int64_t count) {
  const std::size_t bytes = batch.size_bytes() / static_cast<std::size_t>(batch.dim(0));
  Shape shape = batch.shape();
  shape[0] = count;
  return Tensor::view(batch.dtype(), std::move(shape),
                      batch.bytes().data() + static_cast<std::size_t>(first) * bytes,
                      std::make_shared<const Tensor>(batch));
}

bool has_row_each(const std::vector<Tensor>& outputs, std::int64_t pictures) {
  return std::ranges::all_of(
      outputs, [&](const Tensor& output) { return output.rank() == 2 && output.dim(0) == pictures; });
}

}  // namespace

void BatchRunner::prepare(const Tensor& pixels) {
  constexpr std::size_t kMaxBytes = 256 << 20;  // of all activations
  const std::int64_t threads = pool_.threads(), pictures = pixels.dim(0);
  const std::int64_t part = std::clamp<std::int64_t>((pictures + threads - 1) / threads, 1, kGoodPart);
  const TensorInfo input = model_.model().inputs().at(0);
  const bool takes_any = !input.shape.empty() && input.shape[0] == kUnknown;
  if (threads > 1 && part < pictures && takes_any && model_.is_on_cpu()) {
    const bool is_splittable = has_row_each(model_.run({pictures_of(pixels, 0, part)}), part);
    if (is_splittable && model_.arena_bytes() * static_cast<std::size_t>(threads) <= kMaxBytes) {
      part_ = part;
      for (std::int64_t i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>(model_));
      pool_.parallel_for(threads, [&](std::int64_t i) {
        lanes_[static_cast<std::size_t>(i)]->model.run({pictures_of(pixels, 0, part)});
      });
      return;
    }
  }
  model_.run({pixels});
}

std::vector<Tensor> BatchRunner::run(const Tensor& pixels) {
  const std::int64_t pictures = pixels.dim(0);
  if (part_ == 0 || pictures <= 1) return model_.run({pixels});
  std::vector<std::vector<Tensor>> rows(static_cast<std::size_t>((pictures + part_ - 1) / part_));
  pool_.parallel_for(std::ssize(rows), [&](std::int64_t i, int thread) {
    const std::int64_t first = i * part_, count = std::min(part_, pictures - first);
    std::vector<Tensor>& made = rows[static_cast<std::size_t>(i)];
    for (const Tensor& output :
         lanes_[static_cast<std::size_t>(thread)]->model.run({pictures_of(pixels, first, count)}))
      made.push_back(output.clone());  // which the next run would overwrite
  });
  const auto fit_together = [](const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && b.rank() == 2 && a.dim(1) == b.dim(1);
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!has_row_each(rows[i], std::min(part_, pictures - static_cast<std::int64_t>(i) * part_)) ||
        !std::ranges::equal(rows[0], rows[i], fit_together))
      return model_.run({pixels});
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < rows.front().size(); ++k) {
    Shape shape = rows.front()[k].shape();
    shape[0] = pictures;
    Tensor whole(rows.front()[k].dtype(), std::move(shape));
    std::byte* to = whole.mutable_bytes().data();
    for (const std::vector<Tensor>& part : rows) {
      std::memcpy(to, part[k].bytes().data(), part[k].size_bytes());
      to += part[k].size_bytes();
    }
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

std::size_t BatchRunner::peak_bytes() const {
  std::size_t bytes = lanes_.empty() ? model_.peak_bytes() : 0;
  for (const std::unique_ptr<Lane>& lane : lanes_) bytes += lane->model.peak_bytes();
  return bytes;
}

}  // namespace octet::cli
