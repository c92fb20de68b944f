#include "data/transforms/channels.h"

#include <utility>

#include "data/pixel_ops.h"

namespace octet {

const TransformRow ToBGR::kRow =
    transform_row<ToBGR>("ToBGR", TransformRow::Input::kPixels, /*is_random=*/false);

void ToBGR::apply(Example& example, Random&) const {
  std::vector<std::uint8_t>& pixels = example.image.pixels;
  for (std::size_t i = 0; i < pixels.size(); i += Image::kChannels) std::swap(pixels[i], pixels[i + 2]);
}

const TransformRow ToGray::kRow =
    transform_row<ToGray>("ToGray", TransformRow::Input::kPixels, /*is_random=*/false);

void ToGray::apply(Example& example, Random&) const {
  octet::apply(PixelOp::kColor, -1, example.image);
}

}  // namespace octet
