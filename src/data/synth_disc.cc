#include "data/synth_disc.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/mask.h"

namespace octet {

namespace {

namespace fs = std::filesystem;

// Places and lengths are in units of the field of view's radius, with the centre at 0.
struct Point {
  double x = 0, y = 0;
};

struct Ellipse {
  Point center;
  double a = 0, b = 0, angle = 0;

  // How far from the centre in units of the rim: below 1 inside.
  double distance(Point p) const {
    const double dx = p.x - center.x, dy = p.y - center.y, c = std::cos(angle), s = std::sin(angle);
    return std::hypot((dx * c + dy * s) / a, (dy * c - dx * s) / b);
  }
};

struct Color {
  double r = 0, g = 0, b = 0;
};

// From 1 below `from` to 0 above `to`.
double fade(double value, double from, double to) {
  const double t = std::clamp((to - value) / (to - from), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

// Smooth noise of mean 0, in [-1, 1]: random values on a grid, with curves between them.
class Clouds {
 public:
  Clouds(Random& random, int cells) : cells_(cells) {
    for (int i = 0; i < (cells + 1) * (cells + 1); ++i) values_.push_back(random.uniform(-1, 1));
  }
  double at(Point p) const {  // of [-1, 1]
    const double u = (std::clamp(p.x, -1.0, 1.0) + 1) / 2 * cells_,
                 v = (std::clamp(p.y, -1.0, 1.0) + 1) / 2 * cells_;
    const int x = std::min(static_cast<int>(u), cells_ - 1), y = std::min(static_cast<int>(v), cells_ - 1);
    const double fx = u - x, fy = v - y, sx = fx * fx * (3 - 2 * fx), sy = fy * fy * (3 - 2 * fy);
    const auto value = [&](int i, int j) {
      return values_[static_cast<std::size_t>((y + j) * (cells_ + 1) + x + i)];
    };
    return (value(0, 0) * (1 - sx) + value(1, 0) * sx) * (1 - sy) +
           (value(0, 1) * (1 - sx) + value(1, 1) * sx) * sy;
  }

 private:
  int cells_;
  std::vector<double> values_;
};

// How much of a thing there is at each pixel.
struct Layer {
  Layer(int w, int h)
      : width(w), height(h), values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  float& at(int x, int y) {
    return values[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }

  int width, height;
  std::vector<float> values;
};

// Between places and pixels.
struct View {
  int width, height;
  double radius = std::min(width, height) * 0.49;

  Point place(int x, int y) const {
    return {(x + 0.5 - width / 2.0) / radius, (y + 0.5 - height / 2.0) / radius};
  }
  double column(double x) const { return x * radius + width / 2.0 - 0.5; }
  double row(double y) const { return y * radius + height / 2.0 - 0.5; }
};

// A soft dot, where the layer has less.
void stamp(Layer& layer, const View& view, Point center, double size, double strength) {
  const double reach = size * view.radius + 1, cx = view.column(center.x), cy = view.row(center.y);
  for (int y = std::max(static_cast<int>(cy - reach), 0);
       y <= std::min(static_cast<int>(cy + reach), layer.height - 1); ++y)
    for (int x = std::max(static_cast<int>(cx - reach), 0);
         x <= std::min(static_cast<int>(cx + reach), layer.width - 1); ++x) {
      const double d = std::hypot(x - cx, y - cy) / view.radius;
      const double value = strength * fade(d, size * 0.5, size + 0.6 / view.radius);
      layer.at(x, y) = std::max(layer.at(x, y), static_cast<float>(value));
    }
}

// A vessel that winds and branches on its way.
void draw_vessel(Layer& layer, const View& view, Random& random, Point at, double heading, double size,
                 int depth) {
  constexpr double kThinnest = 0.004;
  const double step = 0.012;
  double bend = random.uniform(-0.03, 0.03);
  for (int i = 0; i < 170 && size > kThinnest && std::hypot(at.x, at.y) < 1.05; ++i) {
    stamp(layer, view, at, size, 0.35 + 12 * size);
    at.x += step * std::cos(heading);
    at.y += step * std::sin(heading);
    bend = bend * 0.92 + random.uniform(-0.018, 0.018);
    heading += bend;
    size *= 0.994;
    if (depth < 4 && random.uniform() < 0.02) {
      const double side = random.below(2) == 0 ? -1 : 1;
      draw_vessel(layer, view, random, at, heading + side * random.uniform(0.4, 0.9),
                  size * random.uniform(0.55, 0.8), depth + 1);
    }
  }
}

Point point_within(Random& random, double reach) {
  const double angle = random.uniform(0, 2 * std::numbers::pi), length = reach * std::sqrt(random.uniform());
  return {length * std::cos(angle), length * std::sin(angle)};
}

// A place that keeps its distance from the disc.
Point point_away_from(Random& random, const Ellipse& disc, double reach, double distance) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const Point p = point_within(random, reach);
    if (std::hypot(p.x - disc.center.x, p.y - disc.center.y) > distance) return p;
  }
  return {-disc.center.x, -disc.center.y};
}

void mix(Color& color, const Color& with, double share) {
  color.r += (with.r - color.r) * share;
  color.g += (with.g - color.g) * share;
  color.b += (with.b - color.b) * share;
}

// All that is drawn once and for all pixels.
struct Scene {
  Scene(Random& random, const View& view)
      : coarse(random, 3),
        fine(random, 24),
        vessels(view.width, view.height),
        exudates(view.width, view.height) {
    const double size = random.uniform(0.13, 0.24);
    const double side = random.below(2) == 0 ? -1 : 1;
    disc = {{side * random.uniform(0.15, 0.62), random.uniform(-0.35, 0.35)},
            size * random.uniform(0.85, 1.0),
            size * random.uniform(1.0, 1.18),
            random.uniform(-0.5, 0.5)};
    cup = {{disc.center.x + random.uniform(-0.15, 0.15) * size,
            disc.center.y + random.uniform(-0.15, 0.15) * size},
           disc.a * random.uniform(0.35, 0.6),
           disc.b * random.uniform(0.35, 0.6),
           disc.angle};
    tissue = {random.uniform(150, 215), random.uniform(70, 110), random.uniform(25, 60)};
    disc_color = {random.uniform(225, 250), random.uniform(170, 205), random.uniform(95, 140)};
    macula = {disc.center.x - side * random.uniform(0.75, 0.95), disc.center.y + random.uniform(-0.1, 0.15)};
    draw_vessels(random, view);
    draw_exudates(random, view);
    const int reflections = static_cast<int>(random.below(3));
    for (int i = 0; i < reflections; ++i) {
      const double glare = random.uniform(0.1, 0.26);
      shine.push_back({point_away_from(random, disc, 0.85, 0.4 + glare), glare,
                       glare * random.uniform(0.4, 1.0), random.uniform(0, 3)});
    }
    light = point_within(random, 0.6);
    darkness = random.uniform(0.25, 0.6);
    noise = random.uniform(2, 7);
  }

  void draw_vessels(Random& random, const View& view) {
    // Up and down, on both sides: the arcades, and some smaller ones.
    for (double heading : {-2.2, -0.9, 0.9, 2.2}) {
      heading += random.uniform(-0.3, 0.3);
      draw_vessel(vessels, view, random, disc.center, heading, random.uniform(0.018, 0.028), 0);
    }
    const int more = 3 + static_cast<int>(random.below(4));
    for (int i = 0; i < more; ++i)
      draw_vessel(vessels, view, random, disc.center, random.uniform(0, 2 * std::numbers::pi),
                  random.uniform(0.008, 0.015), 1);
  }

  void draw_exudates(Random& random, const View& view) {
    const int clusters = static_cast<int>(random.below(4));
    for (int i = 0; i < clusters; ++i) {
      const Point center = point_away_from(random, disc, 0.8, 0.45);
      const int dots = 4 + static_cast<int>(random.below(14));
      for (int d = 0; d < dots; ++d) {
        const Point offset = point_within(random, 0.16);
        stamp(exudates, view, {center.x + offset.x, center.y + offset.y}, random.uniform(0.01, 0.045),
              random.uniform(0.7, 1.0));
      }
    }
  }

  Color color_at(Point p, int x, int y) {
    Color color = tissue;
    const double shade = 1 + 0.16 * coarse.at(p) + 0.07 * fine.at(p);
    color = {color.r * shade, color.g * shade, color.b * shade};
    mix(color, {color.r * 0.62, color.g * 0.5, color.b * 0.5},
        fade(std::hypot(p.x - macula.x, p.y - macula.y), 0.02, 0.24));
    mix(color, {245, 225, 120}, 0.85 * exudates.at(x, y));
    const double d = disc.distance(p);
    mix(color, disc_color, 0.92 * fade(d, 0.9, 1.08));
    mix(color, {255, 240, 200}, 0.7 * fade(cup.distance(p), 0.6, 1.15));
    mix(color, {color.r * 0.62, color.g * 0.32, color.b * 0.35}, vessels.at(x, y));
    for (const Ellipse& glare : shine) mix(color, {235, 232, 225}, 0.75 * fade(glare.distance(p), 0.2, 1.3));
    const double lit = 1 - darkness * std::min(std::hypot(p.x - light.x, p.y - light.y), 1.6) / 1.6;
    return {color.r * lit, color.g * lit, color.b * lit};
  }

  Ellipse disc, cup;
  Color tissue, disc_color;
  Point macula, light;
  double darkness = 0, noise = 0;
  std::vector<Ellipse> shine;
  Clouds coarse, fine;
  Layer vessels, exudates;
};

}  // namespace

Example make_disc_picture(std::uint64_t seed, std::uint64_t number, int width, int height) {
  constexpr std::uint64_t kDiscs = 0x64697363;  // tells its numbers from those of others with the same keys
  Random random({kDiscs, seed, number});
  const View view{width, height};
  Scene scene(random, view);
  Image image(width, height);
  Mask mask(width, height);
  for (int y = 0; y < height; ++y) {
    std::uint8_t* to = image.row(y);
    for (int x = 0; x < width; ++x) {
      const Point p = view.place(x, y);
      mask.row(y)[x] = scene.disc.distance(p) < 1 ? 1 : 0;
      const double inside = fade(std::hypot(p.x, p.y), 0.98, 1.0);
      Color color = scene.color_at(p, x, y);
      for (double channel : {color.r, color.g, color.b}) {
        const double value = inside * channel + scene.noise * (0.3 + 0.7 * inside) * random.normal();
        *to++ = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
      }
    }
  }
  return {.image = std::move(image), .target = std::move(mask)};
}

SynthDiscParts parts_of(int count) {
  const int test = count / 10, val = count / 5;
  return {count - val - test, val, test};
}

void write_disc_pictures(const fs::path& folder, const SynthDiscOptions& options,
                         const std::function<void(int)>& progress) {
  make_directory(folder / "JPEGImages");
  make_directory(folder / "Annotations");
  const SynthDiscParts parts = parts_of(options.count);
  int number = 0;
  const std::array<std::pair<const char*, int>, 3> splits = {
      {{"train", parts.train}, {"val", parts.val}, {"test", parts.test}}};
  for (const auto& [split, size] : splits) {
    std::string list;
    for (int i = 0; i < size; ++i) {
      const std::string name = fmt::format("H{:04}", ++number);
      const Example example =
          make_disc_picture(options.seed, static_cast<std::uint64_t>(number), options.width, options.height);
      save_file(folder / "JPEGImages" / (name + ".jpg"), encode_jpeg(example.image));
      save_file(folder / "Annotations" / (name + ".png"), encode_mask(*example.mask()));
      list += fmt::format("JPEGImages/{}.jpg Annotations/{}.png\n", name, name);
      if (progress) progress(number);
    }
    save_file(folder / fmt::format("{}_list.txt", split), list);
  }
}

}  // namespace octet
