#include "graph/ops/detection.h"

#include <algorithm>
#include <cmath>

#include "kernels/ref/infos.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

void non_max_suppression(const KernelArgs& args) {
  InputInfos infos(args);
  auto options = ops::nms_options(args.node, infos.get());
  check(options.has_value(), "in a run all inputs are known");
  std::int64_t* to = args.outputs[0].mutable_data<std::int64_t>().data();
  for (const ops::NmsBox& box : ops::select_boxes(*args.inputs[0], *args.inputs[1], *options)) {
    *to++ = box.image;
    *to++ = box.category;
    *to++ = box.box;
  }
}

namespace {

// One point of a region: where its four neighbours lie in the plane, and what each counts.
struct Sample {
  std::int64_t at[4] = {0, 0, 0, 0};
  float weight[4] = {0, 0, 0, 0};

  Sample(float y, float x, std::int64_t height, std::int64_t width) {
    auto rows = static_cast<float>(height), columns = static_cast<float>(width);
    if (!(y >= -1 && y <= rows && x >= -1 && x <= columns)) return;  // nothing there
    y = std::clamp(y, 0.0f, rows - 1);
    x = std::clamp(x, 0.0f, columns - 1);
    auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
    std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
    float down = y - static_cast<float>(top), across = x - static_cast<float>(left);
    std::int64_t places[] = {top * width + left, top * width + right, bottom * width + left,
                             bottom * width + right};
    float weights[] = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
    std::copy(places, places + 4, at);
    std::copy(weights, weights + 4, weight);
  }
};

// How many points are looked at along a side of a bin.
std::int64_t samples_of(std::int64_t ratio, float bin) {
  constexpr float kMost = 4096;
  if (ratio > 0) return ratio;
  float count = std::ceil(bin);
  if (count > kMost) fail("roi_align: a region of {} points a bin has no sensible size", count);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

}  // namespace

void roi_align(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  std::vector<std::int64_t> images = to_int64s(*args.input("images"));
  bool half_pixel = attr<bool>(args.node, "half_pixel"), max = attr<std::string>(args.node, "mode") == "max";
  float scale = attr<float>(args.node, "scale"), offset = half_pixel ? 0.5f : 0.0f;
  std::int64_t ratio = attr<std::int64_t>(args.node, "sampling_ratio");
  std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  for (std::int64_t image : images)
    if (image < 0 || image >= x.dim(0)) fail("roi_align: there is no image {} among {}", image, x.dim(0));
  if (height == 0 || width == 0) fail("roi_align: x has shape {}", to_string(x.shape()));
  args.pool.parallel_for(out[0], [&](std::int64_t region) {
    const float* roi = args.input("rois")->data<float>().data() + region * 4;
    float left = roi[0] * scale - offset, top = roi[1] * scale - offset;
    float wide = roi[2] * scale - offset - left, high = roi[3] * scale - offset - top;
    if (!half_pixel) {
      wide = std::max(wide, 1.0f);
      high = std::max(high, 1.0f);
    }
    float bin_h = high / static_cast<float>(out[2]), bin_w = wide / static_cast<float>(out[3]);
    std::int64_t rows = samples_of(ratio, bin_h), columns = samples_of(ratio, bin_w);
    auto count = static_cast<float>(std::max<std::int64_t>(rows * columns, 1));
    std::vector<Sample> samples;
    for (std::int64_t bin = 0; bin < out[2] * out[3]; ++bin) {
      samples.clear();
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        float dy = (static_cast<float>(i / columns) + 0.5f) * bin_h / static_cast<float>(rows);
        float dx = (static_cast<float>(i % columns) + 0.5f) * bin_w / static_cast<float>(columns);
        samples.emplace_back(top + static_cast<float>(bin / out[3]) * bin_h + dy,
                             left + static_cast<float>(bin % out[3]) * bin_w + dx, height, width);
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* plane = x.data<float>().data() +
                             (images[static_cast<std::size_t>(region)] * channels + c) * height * width;
        float sum = 0, most = 0;
        for (std::size_t i = 0; i < samples.size(); ++i) {
          const Sample& s = samples[i];
          float parts[4];
          for (std::size_t k = 0; k < 4; ++k) parts[k] = s.weight[k] * plane[s.at[k]];
          sum += parts[0] + parts[1] + parts[2] + parts[3];
          float largest = *std::max_element(parts, parts + 4);
          most = i == 0 ? largest : std::max(most, largest);
        }
        args.outputs[0].mutable_data<float>().data()[(region * channels + c) * out[2] * out[3] + bin] =
            max ? most : sum / count;
      }
    }
  });
}

}  // namespace octet::ref
