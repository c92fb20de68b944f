#include "data/transforms/normalize.h"

#include <cmath>

#include "base/error.h"

namespace octet {

const TransformRow Normalize::kRow =
    transform_row<Normalize>("Normalize", TransformRow::Input::kPixels, /*is_random=*/false);

void Normalize::settings(Settings& settings) {
  settings.optional("mean", mean);
  settings.optional("std", std);
}

void Normalize::check() const {
  for (float value : mean)
    if (!std::isfinite(value)) fail("a mean is {}; it must be a finite number", value);
  for (float value : std)
    if (!std::isfinite(value) || value <= 0) fail("a std is {}; it must be a positive number", value);
}

void Normalize::apply(Example& example, Random&) const {
  const std::size_t plane =
      static_cast<std::size_t>(example.width()) * static_cast<std::size_t>(example.height());
  for (std::size_t c = 0; c * plane < example.planes.size(); ++c) {
    if (example.is_float()) {
      const float* from = example.floats.pixels.data() + c;
      for (float& to : example.planes.subspan(c * plane, plane)) {
        to = (*from / 255.0f - mean[c]) / std[c];
        from += FloatImage::kChannels;
      }
      continue;
    }
    // A pixel has 256 values: do the two divisions for each of those, not for each pixel.
    std::array<float, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (static_cast<float>(i) / 255.0f - mean[c]) / std[c];
    const std::uint8_t* from = example.image.pixels.data() + c;
    for (float& to : example.planes.subspan(c * plane, plane)) {
      to = values[*from];
      from += Image::kChannels;
    }
  }
}

}  // namespace octet
