#include "data/pixel_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"

namespace octet {

namespace {

constexpr int kChannels = Image::kChannels;

using Table = std::array<std::uint8_t, 256>;

std::uint8_t clip(std::int64_t value) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
}

// Geometry.

// Pixel (x, y) becomes the one at (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), where pixels have their
// centres at halves. Pillow walks in steps of 1/65536 pixel.
template <class Picture>
void transform(Picture& picture, const std::array<double, 6>& m) {
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5));
  };
  const Picture from = std::exchange(picture, Picture(picture.width, picture.height));
  const std::int64_t dx_x = fixed(m[0]), dx_y = fixed(m[1]), dy_x = fixed(m[3]), dy_y = fixed(m[4]);
  std::int64_t row_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  std::int64_t row_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (int y = 0; y < picture.height; ++y, row_x += dx_y, row_y += dy_y) {
    std::uint8_t* to = picture.row(y);
    std::int64_t at_x = row_x, at_y = row_y;
    for (int x = 0; x < picture.width; ++x, to += Picture::kChannels, at_x += dx_x, at_y += dy_x) {
      const std::int64_t in_x = at_x >> 16, in_y = at_y >> 16;
      if (in_x < 0 || in_x >= from.width || in_y < 0 || in_y >= from.height) continue;
      std::copy_n(from.row(static_cast<int>(in_y)) + in_x * Picture::kChannels, Picture::kChannels, to);
    }
  }
}

template <class Picture>
void rotate(Picture& picture, double degrees) {
  // Pillow rounds to 15 decimals, so that an angle of 30 degrees has a sine of one half.
  const auto rounded = [](double value) { return std::nearbyint(value * 1e15) / 1e15; };
  const double angle = -degrees * std::numbers::pi / 180.0;
  const double c = rounded(std::cos(angle)), s = rounded(std::sin(angle));
  const double x = picture.width / 2.0, y = picture.height / 2.0;
  transform(picture, {c, s, c * -x + s * -y + x, -s, c, -s * -x + c * -y + y});
}

// False: the operation is one on colours.
template <class Picture>
bool move_pixels(PixelOp op, double amount, Picture& picture) {
  switch (op) {
    case PixelOp::kShearX:
      transform(picture, {1, amount, 0, 0, 1, 0});
      return true;
    case PixelOp::kShearY:
      transform(picture, {1, 0, 0, amount, 1, 0});
      return true;
    case PixelOp::kTranslateX:
      transform(picture, {1, 0, -std::trunc(amount), 0, 1, 0});
      return true;
    case PixelOp::kTranslateY:
      transform(picture, {1, 0, 0, 0, 1, -std::trunc(amount)});
      return true;
    case PixelOp::kRotate:
      rotate(picture, amount);
      return true;
    default:
      return false;
  }
}

// Colours.

int luminance(const std::uint8_t* rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

// From `degenerate` (alpha 0) over `value` (alpha 1) and beyond. Floats, as in Pillow.
std::uint8_t blend(int degenerate, int value, float alpha) {
  const float result = static_cast<float>(degenerate) + alpha * static_cast<float>(value - degenerate);
  return static_cast<std::uint8_t>(std::clamp(result, 0.0f, 255.0f));
}

void look_up(Image& image, const Table& table) {
  for (std::uint8_t& value : image.pixels) value = table[value];
}

void blend_with(Image& image, int degenerate, float alpha) {
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = blend(degenerate, i, alpha);
  look_up(image, table);
}

void adjust_color(Image& image, float alpha) {
  for (std::size_t i = 0; i < image.pixels.size(); i += kChannels) {
    std::uint8_t* rgb = image.pixels.data() + i;
    const int gray = luminance(rgb);
    for (int c = 0; c < kChannels; ++c) rgb[c] = blend(gray, rgb[c], alpha);
  }
}

void adjust_contrast(Image& image, float alpha) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += kChannels) sum += luminance(image.pixels.data() + i);
  const double mean = static_cast<double>(sum) / (static_cast<double>(image.pixels.size()) / kChannels);
  blend_with(image, static_cast<int>(mean + 0.5), alpha);
}

// What is taken away is a blur: the mean of nine pixels, in which the central one counts five times. Pixels
// at the edge stay as they are.
void adjust_sharpness(Image& image, float alpha) {
  const Image from = image;
  for (int y = 1; y + 1 < from.height; ++y) {
    const std::uint8_t* rows[] = {from.row(y - 1), from.row(y), from.row(y + 1)};
    std::uint8_t* to = image.row(y);
    for (std::size_t i = kChannels; i + kChannels < from.stride(); ++i) {
      int sum = 4 * rows[1][i];
      for (const std::uint8_t* row : rows) sum += row[i - kChannels] + row[i] + row[i + kChannels];
      to[i] = blend((sum + 6) / 13, rows[1][i], alpha);
    }
  }
}

// Through HSV with 8 bits each, which loses a little, but that is what others train with, too.
template <class Shift>
void change_hue(Image& image, const Shift& shifted) {
  for (std::size_t i = 0; i < image.pixels.size(); i += kChannels) {
    std::uint8_t* rgb = image.pixels.data() + i;
    const int r = rgb[0], g = rgb[1], b = rgb[2];
    const int v = std::max({r, g, b}), range = v - std::min({r, g, b});
    float h = 0.0f;
    int hue = 0, s = 0;
    if (range > 0) {
      const auto part = [&](int x) { return static_cast<float>(v - x) / static_cast<float>(range); };
      if (r == v)
        h = part(b) - part(g);
      else if (g == v)
        h = static_cast<float>(2.0 + part(r) - part(b));
      else
        h = static_cast<float>(4.0 + part(g) - part(r));
      const double turn = h / 6.0 + 1.0;
      h = static_cast<float>(turn >= 1.0 ? turn - 1.0 : turn);
      hue = clip(static_cast<int>(h * 255.0));
      s = clip(static_cast<int>(static_cast<float>(range) / static_cast<float>(v) * 255.0));
    }
    hue = shifted(hue) & 255;
    if (s == 0) {
      std::fill_n(rgb, kChannels, static_cast<std::uint8_t>(v));
      continue;
    }
    const double sixth = hue * 6.0 / 255.0;
    const int sector = static_cast<int>(sixth);
    const float f = static_cast<float>(sixth - sector), fs = static_cast<float>(s / 255.0);
    const auto scaled = [&](double by) { return static_cast<std::uint8_t>(v * by + 0.5); };
    const std::uint8_t p = scaled(1.0 - fs), q = scaled(1.0 - fs * f), t = scaled(1.0 - fs * (1.0 - f)),
                       top = scaled(1.0);
    const std::array<std::array<std::uint8_t, 3>, 6> sectors = {
        {{top, t, p}, {q, top, p}, {p, top, t}, {p, q, top}, {t, p, top}, {top, p, q}}};
    std::copy_n(sectors[static_cast<std::size_t>(sector % 6)].begin(), kChannels, rgb);
  }
}

// `make` turns a channel's histogram into its table.
template <class Make>
void look_up_channels(Image& image, Make make) {
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::array<std::int64_t, 256> histogram{};
    for (std::size_t i = c; i < image.pixels.size(); i += kChannels) ++histogram[image.pixels[i]];
    Table table;
    for (std::size_t i = 0; i < 256; ++i) table[i] = static_cast<std::uint8_t>(i);
    make(histogram, table);
    for (std::size_t i = c; i < image.pixels.size(); i += kChannels) image.pixels[i] = table[image.pixels[i]];
  }
}

void stretch(const std::array<std::int64_t, 256>& histogram, Table& table) {
  int low = 0, high = 255;
  while (low < 255 && histogram[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && histogram[static_cast<std::size_t>(high)] == 0) --high;
  if (high <= low) return;
  const double scale = 255.0 / (high - low), offset = -low * scale;
  for (int i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] = clip(static_cast<int>(i * scale + offset));
}

void equalize(const std::array<std::int64_t, 256>& histogram, Table& table) {
  std::int64_t sum = 0, last = 0;
  for (std::int64_t count : histogram) {
    sum += count;
    if (count > 0) last = count;
  }
  const std::int64_t step = (sum - last) / 255;
  if (step == 0) return;
  std::int64_t n = step / 2;
  for (std::size_t i = 0; i < 256; n += histogram[i++]) table[i] = clip(n / step);
}

}  // namespace

void add_to_hue(Image& image, double steps) {
  change_hue(image, [steps](int hue) { return static_cast<int>(hue + steps); });
}

void apply(PixelOp op, double amount, Mask& mask) {
  move_pixels(op, amount, mask);
}

void apply(PixelOp op, double amount, Image& image) {
  if (move_pixels(op, amount, image)) return;
  const auto alpha = static_cast<float>(1.0 + amount);
  Table table;
  switch (op) {
    case PixelOp::kBrightness:
      return blend_with(image, 0, alpha);
    case PixelOp::kColor:
      return adjust_color(image, alpha);
    case PixelOp::kContrast:
      return adjust_contrast(image, alpha);
    case PixelOp::kSharpness:
      return adjust_sharpness(image, alpha);
    case PixelOp::kHue:
      return change_hue(image, [shift = static_cast<int>(amount * 255)](int hue) { return hue + shift; });
    case PixelOp::kPosterize:
      for (std::size_t i = 0; i < 256; ++i)
        table[i] = static_cast<std::uint8_t>(i & ~((std::size_t{1} << (8 - static_cast<int>(amount))) - 1));
      return look_up(image, table);
    case PixelOp::kSolarize:
      for (int i = 0; i < 256; ++i)
        table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i < amount ? i : 255 - i);
      return look_up(image, table);
    case PixelOp::kAutoContrast:
      return look_up_channels(image, stretch);
    case PixelOp::kEqualize:
      return look_up_channels(image, equalize);
    case PixelOp::kInvert:
      for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(255 - value);
      return;
    default:
      check(false, "every operation on pixels has a case");
  }
}

}  // namespace octet
