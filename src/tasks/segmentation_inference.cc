#include "tasks/segmentation_inference.h"

#include <algorithm>
#include <cmath>

#include "base/clones.h"
#include "base/error.h"

namespace octet {

namespace {

using Size = std::size_t;

// Where a place of the result lies between two places of an axis; as Paddle's bilinear_interp has it.
struct Place {
  Size first = 0, second = 0;
  float weight = 0;  // of the second
};

std::vector<Place> places(std::int64_t in, std::int64_t out) {
  std::vector<Place> result;
  const float ratio = static_cast<float>(in) / static_cast<float>(out);
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = std::max(ratio * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
    const auto first = std::min(static_cast<std::int64_t>(at), in - 1);
    result.push_back({static_cast<Size>(first), static_cast<Size>(std::min(first + 1, in - 1)),
                      std::max(at - static_cast<float>(first), 0.0f)});
  }
  return result;
}

OCTET_CLONES void blend(const float* a, const float* b, float weight, float* out, Size count) {
  for (Size i = 0; i < count; ++i) out[i] = a[i] * (1 - weight) + b[i] * weight;
}

// A row of the resized plane; `between` has room for a row of the plane.
void resized_row(const float* plane, Size width, const Place& row, std::span<const Place> columns,
                 float* between, float* out) {
  const float *above = plane + row.first * width, *below = plane + row.second * width;
  if (row.weight != 0) {
    blend(above, below, row.weight, between, width);
    above = between;
  }
  for (Size i = 0; i < columns.size(); ++i) {
    const Place& at = columns[i];
    out[i] = above[at.first] * (1 - at.weight) + above[at.second] * at.weight;
  }
}

OCTET_CLONES void take_better(const float* scores, std::uint8_t label, float* best, std::uint8_t* labels,
                              Size count) {
  for (Size i = 0; i < count; ++i) {
    const bool is_better = scores[i] > best[i] || best[i] != best[i];
    best[i] = is_better ? scores[i] : best[i];
    labels[i] = is_better ? label : labels[i];
  }
}

void check_scores(const Tensor& output) {
  if (output.dtype() != DType::kFloat32 || output.rank() != 4 || output.dim(0) != 1 || output.size() == 0)
    fail("the model's output is {} {}, expected float32 scores of each pixel, 1xCxHxW",
         name_of(output.dtype()), to_string(output.shape()));
}

// The part of [1, C, H, W] in a box.
Tensor cut(const Tensor& x, Size top, Size left, Size height, Size width) {
  const auto planes = static_cast<Size>(x.dim(1)), in_h = static_cast<Size>(x.dim(2)),
             in_w = static_cast<Size>(x.dim(3));
  Tensor y(DType::kFloat32,
           {1, x.dim(1), static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)});
  const float* from = x.data<float>().data();
  float* to = y.mutable_data<float>().data();
  for (Size p = 0; p < planes; ++p)
    for (Size row = 0; row < height; ++row)
      std::copy_n(from + (p * in_h + top + row) * in_w + left, width, to + (p * height + row) * width);
  return y;
}

Tensor mirrored(const Tensor& x, bool horizontal, bool vertical) {
  if (!horizontal && !vertical) return x;
  Tensor y = x.clone();
  const auto height = static_cast<Size>(x.dim(2)), width = static_cast<Size>(x.dim(3));
  const float* from = x.data<float>().data();
  float* to = y.mutable_data<float>().data();
  for (Size p = 0; p < static_cast<Size>(x.dim(1)); ++p)
    for (Size row = 0; row < height; ++row) {
      const float* source = from + (p * height + (vertical ? height - 1 - row : row)) * width;
      float* target = to + (p * height + row) * width;
      if (horizontal)
        std::reverse_copy(source, source + width, target);
      else
        std::copy_n(source, width, target);
    }
  return y;
}

void to_probabilities(Tensor& scores) {
  const auto classes = static_cast<Size>(scores.dim(1)),
             plane = static_cast<Size>(scores.dim(2) * scores.dim(3));
  float* at = scores.mutable_data<float>().data();
  for (Size i = 0; i < plane; ++i) {
    float largest = at[i], sum = 0;
    for (Size c = 1; c < classes; ++c) largest = std::max(largest, at[c * plane + i]);
    for (Size c = 0; c < classes; ++c) sum += at[c * plane + i] = std::exp(at[c * plane + i] - largest);
    for (Size c = 0; c < classes; ++c) at[c * plane + i] /= sum;
  }
}

void add_to(Tensor& sum, const Tensor& more) {
  const std::span<float> to = sum.mutable_data<float>();
  const std::span<const float> from = more.data<float>();
  for (Size i = 0; i < to.size(); ++i) to[i] += from[i];
}

// Where windows begin along an axis.
std::vector<Size> window_begins(std::int64_t size, int window, int stride) {
  const std::int64_t count = size <= window ? 1 : (size - window + stride - 1) / stride + 1;
  std::vector<Size> begins;
  for (std::int64_t i = 0; i < count; ++i)
    begins.push_back(
        static_cast<Size>(std::max<std::int64_t>(std::min(i * stride + window, size) - window, 0)));
  return begins;
}

Tensor slide(const SegmentationModel& model, const Tensor& pixels, const SegmentOptions& options) {
  const auto height = static_cast<Size>(pixels.dim(2)), width = static_cast<Size>(pixels.dim(3));
  const Size window_h = std::min(height, static_cast<Size>(options.crop_size[1])),
             window_w = std::min(width, static_cast<Size>(options.crop_size[0]));
  Tensor sum;
  std::vector<float> counts(height * width);
  for (Size top : window_begins(pixels.dim(2), options.crop_size[1], options.stride[1]))
    for (Size left : window_begins(pixels.dim(3), options.crop_size[0], options.stride[0])) {
      const Tensor scores = model(cut(pixels, top, left, window_h, window_w));
      check_scores(scores);
      const auto classes = static_cast<Size>(scores.dim(1));
      if (sum.empty()) {
        sum = Tensor(DType::kFloat32, {1, scores.dim(1), pixels.dim(2), pixels.dim(3)});
        std::ranges::fill(sum.mutable_data<float>(), 0.0f);
      }
      if (scores.dim(2) != static_cast<std::int64_t>(window_h) ||
          scores.dim(3) != static_cast<std::int64_t>(window_w) || scores.dim(1) != sum.dim(1))
        fail("the model gives {} for a window of {}x{}", to_string(scores.shape()), window_w, window_h);
      const float* from = scores.data<float>().data();
      float* to = sum.mutable_data<float>().data();
      for (Size row = 0; row < window_h; ++row) {
        for (Size c = 0; c < classes; ++c)
          for (Size i = 0; i < window_w; ++i)
            to[(c * height + top + row) * width + left + i] += from[(c * window_h + row) * window_w + i];
        for (Size i = 0; i < window_w; ++i) ++counts[(top + row) * width + left + i];
      }
    }
  float* to = sum.mutable_data<float>().data();
  for (Size c = 0; c < static_cast<Size>(sum.dim(1)); ++c)
    for (Size i = 0; i < counts.size(); ++i) to[c * counts.size() + i] /= counts[i];
  return sum;
}

// Of classes that the model gives itself: the nearest ones.
Mask resized(const Mask& mask, const SizeChange& change) {
  Mask result(change.width, change.height);
  const bool is_padded = change.kind == SizeChange::Kind::kPadded;
  for (int y = 0; y < change.height; ++y)
    for (int x = 0; x < change.width; ++x) {
      const std::int64_t from_y = is_padded ? y : std::int64_t{y} * mask.height / change.height,
                         from_x = is_padded ? x : std::int64_t{x} * mask.width / change.width;
      result.row(y)[x] = mask.row(static_cast<int>(from_y))[from_x];
    }
  return result;
}

Mask mask_of_classes(const Tensor& output, std::span<const SizeChange> changes) {
  const Tensor ids = output.cast(DType::kInt64);
  Mask mask(static_cast<int>(output.dim(-1)), static_cast<int>(output.dim(-2)));
  if (ids.size() != std::ssize(mask.pixels))
    fail("the model's output is {}, expected a class for each pixel of one picture",
         to_string(output.shape()));
  for (Size i = 0; i < mask.pixels.size(); ++i) {
    const std::int64_t id = ids.data<std::int64_t>()[i];
    mask.pixels[i] = id >= 0 && id < Mask::kIgnored ? static_cast<std::uint8_t>(id) : Mask::kIgnored;
  }
  for (Size i = changes.size(); i-- > 0;) mask = resized(mask, changes[i]);
  return mask;
}

void check_padding(const Tensor& scores, const SizeChange& change) {
  if (scores.dim(2) < change.height || scores.dim(3) < change.width)
    fail("the model's output is {}, smaller than the picture of {}x{} that was padded",
         to_string(scores.shape()), change.width, change.height);
}

// The best class of each pixel of the scores, resized. Row by row: large pictures with many classes need no
// more memory for it.
Mask best_classes(const Tensor& scores, int height, int width) {
  const auto classes = static_cast<Size>(scores.dim(1)), in_h = static_cast<Size>(scores.dim(2)),
             in_w = static_cast<Size>(scores.dim(3)), out_w = static_cast<Size>(width);
  if (classes > Mask::kIgnored)
    fail("the model has {} classes, and masks have up to {}", classes, Mask::kIgnored);
  const std::vector<Place> rows = places(scores.dim(2), height), columns = places(scores.dim(3), width);
  const bool is_same = scores.dim(2) == height && scores.dim(3) == width;
  const float* from = scores.data<float>().data();
  Mask mask(width, height);
  std::vector<float> between(in_w), row(out_w), best(out_w);
  for (int y = 0; y < height; ++y) {
    std::ranges::fill(best, std::nanf(""));
    for (Size c = 0; c < classes; ++c) {
      const float* plane = from + c * in_h * in_w;
      if (!is_same) resized_row(plane, in_w, rows[static_cast<Size>(y)], columns, between.data(), row.data());
      take_better(is_same ? plane + static_cast<Size>(y) * in_w : row.data(), static_cast<std::uint8_t>(c),
                  best.data(), mask.row(y), out_w);
    }
    for (Size i = 0; i < out_w; ++i)
      if (std::isnan(best[i])) mask.row(y)[i] = Mask::kIgnored;
  }
  return mask;
}

}  // namespace

void check_segment_options(const SegmentOptions& options) {
  if (options.aug_eval && options.scales.empty()) fail("aug_eval needs at least one scale");
  for (double scale : options.scales)
    if (!(scale >= 0.05 && scale <= 16)) fail("a scale of {}; it can be anything from 0.05 to 16", scale);
  if (!options.is_slide) return;
  for (Size i = 0; i < 2; ++i) {
    if (options.crop_size[i] < 1 || options.stride[i] < 1)
      fail("is_slide needs a crop_size and a stride, width and height each");
    if (options.stride[i] > options.crop_size[i])
      fail("a stride of {} is larger than the window of {}: pixels between windows would have no answer",
           options.stride[i], options.crop_size[i]);
  }
}

Tensor resize_planes(const Tensor& x, std::int64_t height, std::int64_t width) {
  if (x.dim(2) == height && x.dim(3) == width) return x;
  const std::vector<Place> rows = places(x.dim(2), height), columns = places(x.dim(3), width);
  const auto in_w = static_cast<Size>(x.dim(3)), plane = static_cast<Size>(x.dim(2)) * in_w;
  Tensor y(DType::kFloat32, {1, x.dim(1), height, width});
  std::vector<float> between(in_w);
  const float* from = x.data<float>().data();
  float* to = y.mutable_data<float>().data();
  for (Size p = 0; p < static_cast<Size>(x.dim(1)); ++p)
    for (const Place& row : rows) {
      resized_row(from + p * plane, in_w, row, columns, between.data(), to);
      to += width;
    }
  return y;
}

Tensor segment(const SegmentationModel& model, const Tensor& pixels, const SegmentOptions& options,
               Summands summands) {
  const auto run = [&](const Tensor& x) { return options.is_slide ? slide(model, x, options) : model(x); };
  if (!options.aug_eval) return run(pixels);
  Tensor sum;
  std::vector<std::array<bool, 2>> flips = {{false, false}};
  if (options.flip_horizontal) flips.push_back({true, false});
  if (options.flip_vertical) flips.push_back({false, true});
  if (options.flip_horizontal && options.flip_vertical) flips.push_back({true, true});
  for (double factor : options.scales) {
    const auto scaled = [&](std::int64_t side) {
      return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(side) * factor + 0.5), 1);
    };
    const Tensor input = resize_planes(pixels, scaled(pixels.dim(2)), scaled(pixels.dim(3)));
    for (const auto& [horizontal, vertical] : flips) {
      Tensor scores = run(mirrored(input, horizontal, vertical));
      check_scores(scores);
      scores = resize_planes(mirrored(scores, horizontal, vertical), pixels.dim(2), pixels.dim(3));
      if (summands == Summands::kProbabilities) to_probabilities(scores = scores.clone());
      if (sum.empty())
        sum = scores.clone();
      else
        add_to(sum, scores);
    }
  }
  return sum;  // the mean has the same best classes
}

Mask classes_of(const Tensor& output, std::span<const SizeChange> changes) {
  if (output.dtype() != DType::kFloat32) return mask_of_classes(output, changes);
  check_scores(output);
  Tensor scores = output;
  for (Size i = changes.size(); i-- > 0;) {
    const SizeChange& change = changes[i];
    const bool is_padded = change.kind == SizeChange::Kind::kPadded;
    if (is_padded) {
      check_padding(scores, change);
      scores = cut(scores, 0, 0, static_cast<Size>(change.height), static_cast<Size>(change.width));
    } else if (i == 0) {
      return best_classes(scores, change.height, change.width);
    } else {
      scores = resize_planes(scores, change.height, change.width);
    }
  }
  return best_classes(scores, static_cast<int>(scores.dim(2)), static_cast<int>(scores.dim(3)));
}

}  // namespace octet
