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

PixelValues Normalize::values() const {
  PixelValues values(Image::kChannels);
  for (std::size_t c = 0; c < values.size(); ++c)
    for (std::size_t i = 0; i < values[c].size(); ++i)
      values[c][i] = (static_cast<float>(i) / 255.0f - mean[c]) / std[c];
  return values;
}

void Normalize::apply(Example& example, Random&) const {
  const std::size_t plane =
      static_cast<std::size_t>(example.width()) * static_cast<std::size_t>(example.height());
  const PixelValues table = example.is_float() ? PixelValues() : values();
  for (std::size_t c = 0; c * plane < example.planes.size(); ++c) {
    if (example.is_float()) {
      const float* from = example.floats.pixels.data() + c;
      for (float& to : example.planes.subspan(c * plane, plane)) {
        to = (*from / 255.0f - mean[c]) / std[c];
        from += FloatImage::kChannels;
      }
      continue;
    }
    const std::uint8_t* from = example.image.pixels.data() + c;
    for (float& to : example.planes.subspan(c * plane, plane)) {
      to = table[c][*from];
      from += Image::kChannels;
    }
  }
}

}  // namespace octet
