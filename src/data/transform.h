#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "data/example.h"
#include "data/resample.h"
#include "data/settings.h"
#include "tensor/pixel_table.h"

// What happens to a picture, and to its target, before a network sees it. One list of transforms serves
// training, evaluation, calibration and deploy.yaml. docs/add-a-transform.md says how to add one.
namespace octet {

// The largest side that a transform gives.
constexpr int kMaxPictureSide = 16384;

class Transform;

// A kind of transform: a row of the table in transform.cc. transform_row() makes it of a struct.
struct TransformRow {
  // 8-bit pixels; those or a FloatImage; or what Normalize makes of them.
  enum class Input { kPixels, kEither, kPlanes };

  std::string_view name;  // as YAML files spell it
  Input input;
  bool is_random;       // not for evaluation and deployment
  bool gives_one_size;  // whatever the size of the picture was
  Transform (*read)(Settings& from);
  void (*write)(const void* transform, Settings& to);
  void (*check)(const void* transform);
  void (*apply)(const void* transform, Example& example, Random& random);
  bool (*equal)(const void* a, const void* b);
};

// One transform with its settings, of a struct such as ResizeShort. Copies share it.
class Transform {
 public:
  template <class T>
  requires requires { T::kRow; }
  Transform(T transform) : row_(&T::kRow), self_(std::make_shared<const T>(std::move(transform))) {}

  const TransformRow& row() const { return *row_; }
  // nullptr: it is of another kind.
  template <class T>
  const T* get() const {
    return row_ == &T::kRow ? static_cast<const T*>(self_.get()) : nullptr;
  }

  void write(Settings& to) const { row_->write(self_.get(), to); }
  void check() const { row_->check(self_.get()); }  // an Error when a setting is out of range
  // Geometry moves the pixels of a mask as well, to the nearest; colours leave it alone.
  void apply(Example& example, Random& random) const { row_->apply(self_.get(), example, random); }

  bool operator==(const Transform& other) const {
    return row_ == other.row_ && row_->equal(self_.get(), other.self_.get());
  }

 private:
  const TransformRow* row_;
  std::shared_ptr<const void> self_;
};

using Transforms = std::vector<Transform>;

// The row of a struct with `settings(Settings&)`, `check()` and `apply(Example&, Random&)`.
template <class T>
constexpr TransformRow transform_row(std::string_view name, TransformRow::Input input, bool is_random,
                                     bool gives_one_size = false) {
  return {
      name,
      input,
      is_random,
      gives_one_size,
      [](Settings& from) {
        T transform;
        transform.settings(from);
        return Transform(std::move(transform));
      },
      [](const void* transform, Settings& to) {
        T copy = *static_cast<const T*>(transform);
        copy.settings(to);
      },
      [](const void* transform) { static_cast<const T*>(transform)->check(); },
      [](const void* transform, Example& example, Random& random) {
        static_cast<const T*>(transform)->apply(example, random);
      },
      [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); }};
}

// All kinds, in the order in which they are usually applied.
std::span<const TransformRow* const> transform_table();

// The first transform of a kind in a list; nullptr: there is none.
template <class T>
const T* find(const Transforms& transforms) {
  for (const Transform& transform : transforms)
    if (const T* found = transform.get<T>()) return found;
  return nullptr;
}

// An Error when a setting is out of range, Normalize is missing, or something is on the wrong side of it.
void check_transforms(const Transforms& transforms);
// The same for one transform more, behind those of a list that is not complete yet.
void check_next(const Transforms& before, const Transform& next);

// Whether pictures of any size come out at the same one.
bool gives_one_size(const Transforms& transforms);

// A list that is ready to run. Of a picture that is resized and then cropped only the part that stays is
// computed; Normalize writes to where the batch is made.
class PreparedTransforms {
 public:
  explicit PreparedTransforms(const Transforms& transforms);  // checks them

  int channels() const { return channels_; }  // of the planes: 1 when a transform makes pictures grey

  // What they read of a picture.
  NeededPart needed_part() const;
  // Up to Normalize: the picture has its final size then, in 8 bits or in floats.
  void apply_to_pixels(Example& example, Random& random) const;
  // What Normalize makes of 8-bit pixels, if that is all that is done with them then.
  std::optional<PixelValues> pixel_values() const;
  // Normalize, and what is behind it; `planes` has width x height values for each channel.
  void apply_to_planes(Example& example, Random& random, std::span<float> planes) const;

 private:
  Transforms pixels_, planes_;
  int channels_ = Image::kChannels;
};

}  // namespace octet
