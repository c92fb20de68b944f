#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "base/error.h"
#include "data/image.h"

namespace octet {

namespace {

// Lossy pictures are made of blocks of 16x16 pixels. The modes of one alone, whose probabilities are fixed,
// take 3.4 bits, so a byte holds at most 600 pixels.
constexpr std::int64_t kMaxPixelsPerByte = 600;
constexpr int kLossy = 1, kLossless = 2;  // WebPBitstreamFeatures::format

std::string_view describe(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "the data ends early, the file is truncated";
    default:
      return "the data is damaged";
  }
}

}  // namespace

// Of an animation, this is the first frame, on black where it does not fill the picture.
Image decode_webp(Bytes bytes, const std::string& name) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> file(WebPDemuxPartial(&data, &state),
                                                                      &WebPDemuxDelete);
  if (!file || state == WEBP_DEMUX_PARSE_ERROR) fail("{}: broken WebP picture: the data is damaged", name);
  if (state != WEBP_DEMUX_DONE)
    fail("{}: broken WebP picture: the data ends early, the file is truncated", name);

  const std::int64_t width = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_WIDTH);
  const std::int64_t height = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_HEIGHT);
  check_pixel_count(width, height, name);

  struct Owner {
    WebPIterator frame{};
    ~Owner() { WebPDemuxReleaseIterator(&frame); }
  } owner;
  const WebPIterator& frame = owner.frame;
  if (WebPDemuxGetFrame(file.get(), 1, &owner.frame) == 0)
    fail("{}: broken WebP picture: it has no pixels", name);
  WebPBitstreamFeatures features;
  if (const VP8StatusCode status = WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &features);
      status != VP8_STATUS_OK)
    fail("{}: broken WebP picture: {}", name, describe(status));
  if (features.width != frame.width || features.height != frame.height || frame.x_offset < 0 ||
      frame.y_offset < 0 || std::int64_t{frame.x_offset} + frame.width > width ||
      std::int64_t{frame.y_offset} + frame.height > height)
    fail("{}: broken WebP picture: the first frame does not fit into {}x{} pixels", name, width, height);

  // A frame of a lossless picture can be no bytes at all, so what is taken for it is limited for itself; so
  // is the black around a small frame.
  const std::int64_t pixels = width * height, size = static_cast<std::int64_t>(bytes.size());
  const bool fits_data =
      features.format != kLossy || std::int64_t{frame.width} * frame.height / kMaxPixelsPerByte <= size;
  if (!fits_data)
    fail("{}: broken WebP picture: {} bytes are too few for {}x{} pixels", name, size, width, height);
  if (features.format != kLossy || pixels / kMaxPixelsPerByte > size)
    check_decoder_memory(pixels * 4, features.format == kLossless ? "a lossless WebP" : "an animated WebP",
                         width, height, size, name);

  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    fail("{}: libwebp is of another version than octet was built with", name);
  Image image(static_cast<int>(width), static_cast<int>(height));
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  WebPRGBABuffer& target = config.output.u.RGBA;
  target.rgba = image.row(frame.y_offset) + std::ptrdiff_t{frame.x_offset} * Image::kChannels;
  target.stride = static_cast<int>(image.stride());
  target.size = image.pixels.size() - static_cast<std::size_t>(target.rgba - image.pixels.data());
  const VP8StatusCode status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  if (status != VP8_STATUS_OK) fail("{}: broken WebP picture: {}", name, describe(status));
  return image;
}

}  // namespace octet
