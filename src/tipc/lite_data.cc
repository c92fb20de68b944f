#include "tipc/lite_data.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

namespace octet::tipc {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[kLiteClasses] = {"checks", "discs", "rings", "stripes"};

// How much of the second color there is at a place, from 0 to 1. A pattern repeats about every 1.
double pattern(int class_index, double u, double v) {
  constexpr double kTurn = 2 * 3.14159265358979323846;
  auto is_odd = [](double x) { return (static_cast<long>(std::floor(x)) & 1) != 0; };
  switch (class_index) {
    case 0:
      return is_odd(2 * u) != is_odd(2 * v) ? 1 : 0;
    case 1:
      return std::hypot(u - std::round(u), v - std::round(v)) < 0.35 ? 1 : 0;
    case 2:
      return 0.5 + 0.5 * std::sin(kTurn * std::hypot(u, v));
    default:
      return 0.5 + 0.5 * std::sin(kTurn * u);
  }
}

}  // namespace

Image draw_lite_picture(int class_index, int number) {
  Random random({static_cast<std::uint64_t>(class_index), static_cast<std::uint64_t>(number)});
  Image image(static_cast<int>(256 + random.below(65)), static_cast<int>(256 + random.below(65)));
  std::array<double, 3> dark{}, light{};
  for (double& channel : dark) channel = random.uniform(0, 110);
  for (double& channel : light) channel = random.uniform(145, 255);
  const double angle = random.uniform(0, 6.28), repeats = random.uniform(3, 6), noise = random.uniform(4, 12);
  const double c = std::cos(angle) * repeats, s = std::sin(angle) * repeats;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const double dx = x / 256.0 - 0.5, dy = y / 256.0 - 0.5;
      const double share = pattern(class_index, c * dx + s * dy, c * dy - s * dx);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const double value =
            dark[channel] + share * (light[channel] - dark[channel]) + noise * random.normal();
        image.row(y)[3 * static_cast<std::size_t>(x) + channel] =
            static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
      }
    }
  return image;
}

void write_lite_data(const fs::path& folder) {
  int number = 0;
  for (const char* split : {"train", "val"})
    for (int i = 0; i < kLitePictures; ++i, ++number)
      for (int index = 0; index < kLiteClasses; ++index) {
        const fs::path path = folder / split / kNames[index] / fmt::format("{:02}.jpg", i);
        make_directory(path.parent_path());
        save_file(path, encode_jpeg(draw_lite_picture(index, number)));
      }
}

}  // namespace octet::tipc
