#include "train/pixel_loss.h"

#include <algorithm>
#include <vector>

#include "base/clones.h"
#include "graph/exp.h"
#include "train/bfloat16.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// So many pixels at a time: their logits lie class by class in the first cache, whatever the memory order of
// the tensor, and loops over pixels have whole vectors to work on.
constexpr std::int64_t kBlock = 64;

// A tensor [N, C, H, W] as pixels, each with a logit for each class.
struct Pixels {
  std::int64_t pictures, classes, plane;  // plane: pixels of a picture
  bool is_rows;                           // the classes of a pixel lie side by side
};

Pixels pixels_of(const at::Tensor& logits) {
  return {logits.size(0), logits.size(1), logits.size(2) * logits.size(3),
          logits.is_contiguous(at::MemoryFormat::ChannelsLast)};
}

template <class T>
OCTET_CLONES void read_block(const T* logits, const Pixels& pixels, std::int64_t first, std::int64_t count,
                             float* block) {
  const std::int64_t classes = pixels.classes;
  for (std::int64_t c = 0; c < classes; ++c)
    for (std::int64_t i = 0; i < count; ++i)
      block[c * kBlock + i] =
          widened(pixels.is_rows ? logits[(first + i) * classes + c] : logits[c * pixels.plane + first + i]);
}

template <class T>
OCTET_CLONES void write_block(const float* block, const Pixels& pixels, std::int64_t first,
                              std::int64_t count, T* gradients) {
  const std::int64_t classes = pixels.classes;
  for (std::int64_t c = 0; c < classes; ++c)
    for (std::int64_t i = 0; i < count; ++i)
      (pixels.is_rows ? gradients[(first + i) * classes + c] : gradients[c * pixels.plane + first + i]) =
          narrowed<T>(block[c * kBlock + i]);
}

// The largest logit of each pixel, and the sum of e^(x - that) over the classes.
OCTET_CLONES void sum_exponentials(const float* __restrict block, std::int64_t classes,
                                   float* __restrict largest, float* __restrict sums) {
  for (std::int64_t i = 0; i < kBlock; ++i) largest[i] = block[i];
  for (std::int64_t c = 1; c < classes; ++c)
    for (std::int64_t i = 0; i < kBlock; ++i) largest[i] = std::max(largest[i], block[c * kBlock + i]);
  for (std::int64_t i = 0; i < kBlock; ++i) sums[i] = 0;
  for (std::int64_t c = 0; c < classes; ++c)
    for (std::int64_t i = 0; i < kBlock; ++i) sums[i] += exp_of(block[c * kBlock + i] - largest[i]);
}

// The logits become probabilities times a factor for each pixel. `inverses`: 1 / the sum of the pixel.
OCTET_CLONES void to_probabilities(float* __restrict block, std::int64_t classes,
                                   const float* __restrict largest, const float* __restrict inverses,
                                   const float* __restrict factors) {
  for (std::int64_t c = 0; c < classes; ++c)
    for (std::int64_t i = 0; i < kBlock; ++i)
      block[c * kBlock + i] = exp_of(block[c * kBlock + i] - largest[i]) * inverses[i] * factors[i];
}

// Calls work(picture, first pixel, number of pixels, block) for all blocks.
template <class Work>
void for_blocks(const Pixels& pixels, const Work& work) {
  const std::int64_t blocks = (pixels.plane + kBlock - 1) / kBlock;
  at::parallel_for(0, pixels.pictures * blocks, 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> block(static_cast<std::size_t>(pixels.classes * kBlock));
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b % blocks * kBlock;
      work(b / blocks, first, std::min(kBlock, pixels.plane - first), block.data());
    }
  });
}

struct Kept {
  float *largest, *inverses;  // of each pixel: the largest logit, and 1 / the sum of e^(x - that)
};

template <class T>
void losses_of(const at::Tensor& logits, const std::uint8_t* label, std::int64_t ignored, float* losses,
               const Kept& kept) {
  const Pixels pixels = pixels_of(logits);
  const T* from = logits.const_data_ptr<T>();
  for_blocks(pixels, [&](std::int64_t n, std::int64_t first, std::int64_t count, float* block) {
    float largest[kBlock], sums[kBlock], mine[kBlock] = {};
    const std::int64_t at = n * pixels.plane + first, picture = n * pixels.classes * pixels.plane;
    read_block(from + picture, pixels, first, count, block);
    for (std::int64_t i = 0; i < count; ++i)
      if (label[at + i] != ignored) mine[i] = block[label[at + i] * kBlock + i];
    sum_exponentials(block, pixels.classes, largest, sums);
    for (std::int64_t i = 0; i < count; ++i) {
      kept.largest[at + i] = largest[i];
      kept.inverses[at + i] = 1 / sums[i];
      losses[at + i] = label[at + i] == ignored ? 0 : std::log(sums[i]) - (mine[i] - largest[i]);
    }
  });
}

template <class T>
at::Tensor gradient_of(const at::Tensor& logits, const std::uint8_t* label, std::int64_t ignored,
                       const float* gradient, const float* all_largest, const float* all_inverses) {
  const Pixels pixels = pixels_of(logits);
  at::Tensor result = at::empty_like(logits);
  const T* from = logits.const_data_ptr<T>();
  T* to = result.data_ptr<T>();
  for_blocks(pixels, [&](std::int64_t n, std::int64_t first, std::int64_t count, float* block) {
    float factors[kBlock] = {}, largest[kBlock] = {}, inverses[kBlock] = {};
    const std::int64_t at = n * pixels.plane + first, picture = n * pixels.classes * pixels.plane;
    read_block(from + picture, pixels, first, count, block);
    for (std::int64_t i = 0; i < count; ++i)
      if (label[at + i] != ignored) factors[i] = gradient[at + i];
    std::copy_n(all_largest + at, count, largest);
    std::copy_n(all_inverses + at, count, inverses);
    to_probabilities(block, pixels.classes, largest, inverses, factors);
    for (std::int64_t i = 0; i < count; ++i)
      if (label[at + i] != ignored) block[label[at + i] * kBlock + i] -= gradient[at + i];
    write_block(block, pixels, first, count, to + picture);
  });
  return result;
}

// Logits of pictures are large: what is kept for the gradient is them, which exist in any case, and two
// numbers for each pixel, but no probabilities. (One number, the logarithm of the sum, would be too coarse
// beside large logits.)
struct PixelCrossEntropy : torch::autograd::Function<PixelCrossEntropy> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits, const at::Tensor& labels,
                            std::int64_t ignored) {
    at::Tensor losses = at::empty(labels.sizes(), at::kFloat);
    at::Tensor largest_logits = at::empty_like(losses), inverse_sums = at::empty_like(losses);
    const auto* label = labels.const_data_ptr<std::uint8_t>();
    auto* to = losses.data_ptr<float>();
    const Kept kept{largest_logits.data_ptr<float>(), inverse_sums.data_ptr<float>()};
    logits.scalar_type() == at::kFloat ? losses_of<float>(logits, label, ignored, to, kept)
                                       : losses_of<BFloat16>(logits, label, ignored, to, kept);
    context->save_for_backward({logits, labels, largest_logits, inverse_sums});
    context->saved_data["ignored"] = ignored;
    return losses;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &logits = saved[0], &labels = saved[1], gradient = gradients[0].contiguous();
    const std::int64_t ignored = context->saved_data["ignored"].toInt();
    const auto* label = labels.const_data_ptr<std::uint8_t>();
    const auto *g = gradient.const_data_ptr<float>(), *largest = saved[2].const_data_ptr<float>(),
               *inverses = saved[3].const_data_ptr<float>();
    return {logits.scalar_type() == at::kFloat
                ? gradient_of<float>(logits, label, ignored, g, largest, inverses)
                : gradient_of<BFloat16>(logits, label, ignored, g, largest, inverses),
            {},
            {}};
  }
};

}  // namespace

at::Tensor pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int ignored) {
  if (logits.is_cpu() && (logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kBFloat16)) {
    const bool has_order = logits.is_contiguous() || logits.is_contiguous(at::MemoryFormat::ChannelsLast);
    return PixelCrossEntropy::apply(has_order ? logits : logits.contiguous(), labels.contiguous(), ignored);
  }
  const at::Tensor counts = labels != ignored;
  const at::Tensor known = at::where(counts, labels, at::zeros_like(labels)).to(at::kLong);
  return -at::log_softmax(logits, 1).gather(1, known.unsqueeze(1)).squeeze(1) *
         counts.to(logits.scalar_type());
}

}  // namespace octet::train
