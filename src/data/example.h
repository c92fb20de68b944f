#pragma once
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "data/image.h"

namespace octet {

// The class of every pixel of a picture: rows from the top without padding, as in Image.
struct Mask {
  static constexpr int kChannels = 1;
  static constexpr std::uint8_t kIgnored = 255;  // no class: neither learned nor counted

  Mask() = default;
  Mask(int w, int h)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), kIgnored) {}

  const std::uint8_t* row(int y) const { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  std::uint8_t* row(int y) { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  std::size_t stride() const { return static_cast<std::size_t>(width); }

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
};

// A picture between two steps that give more than 8 bits: values of 0 to 255, and beyond where weights
// overshoot.
struct FloatImage {
  static constexpr int kChannels = 3;

  FloatImage() = default;
  FloatImage(int w, int h)  // black
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * kChannels) {}

  const float* row(int y) const { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  float* row(int y) { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  std::size_t stride() const { return static_cast<std::size_t>(width) * kChannels; }

  int width = 0;
  int height = 0;
  std::vector<float> pixels;
};

// What a network should answer: nothing is known, a class, or a class for each pixel.
using Target = std::variant<std::monostate, std::int64_t, Mask>;

// A change of a picture's size, for who maps the network's answer back to the picture as it was: from the
// last one to the first, what was resized is resized to `width` x `height`, and of what was padded, on the
// right and at the bottom, the first so many columns and rows are taken.
struct SizeChange {
  enum class Kind { kResized, kPadded } kind;
  int width, height;  // before

  bool operator==(const SizeChange&) const = default;
};

// A picture and its target, on their way from the data set into a batch.
struct Example {
  Image image;
  Target target = {};
  std::vector<SizeChange> changes = {};  // in their order
  FloatImage floats = {};                // in place of `image`, if it is not empty
  // Once the picture is normalised: height x width values of each channel: red, green and blue, if nothing
  // changed that. The memory is that of the batch.
  std::span<float> planes = {};

  bool is_float() const { return !floats.pixels.empty(); }
  int width() const { return is_float() ? floats.width : image.width; }
  int height() const { return is_float() ? floats.height : image.height; }
  Mask* mask() { return std::get_if<Mask>(&target); }  // nullptr: the target is no mask
  const Mask* mask() const { return std::get_if<Mask>(&target); }
};

}  // namespace octet
