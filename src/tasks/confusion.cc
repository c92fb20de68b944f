#include "tasks/confusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace octet {

namespace {

using Color = std::array<double, 3>;

// From 0 to 1: dark blue, blue, green, yellow (of matplotlib's viridis).
Color color_of(double share) {
  constexpr Color kStops[] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
  const double at = std::clamp(share, 0.0, 1.0) * (std::size(kStops) - 1);
  const auto low = std::min(static_cast<std::size_t>(at), std::size(kStops) - 2);
  const double part = at - static_cast<double>(low);
  Color color{};
  for (std::size_t c = 0; c < 3; ++c) color[c] = kStops[low][c] * (1 - part) + kStops[low + 1][c] * part;
  return color;
}

void fill(Image& image, int left, int top, int width, int height, const Color& color) {
  for (int y = top; y < top + height; ++y)
    for (int x = left; x < left + width; ++x)
      for (int c = 0; c < 3; ++c)
        image.row(y)[x * 3 + c] = static_cast<std::uint8_t>(std::lround(color[static_cast<std::size_t>(c)]));
}

// A name may hold anything; a table has its columns.
std::string name_of(std::int64_t label, const std::vector<std::string>& names) {
  if (label >= std::ssize(names)) return std::to_string(label);
  std::string name = printable(names[static_cast<std::size_t>(label)]);
  std::ranges::replace(name, '|', '/');
  return name;
}

// What a class is taken for most often when it is not recognised.
std::string mistakes_of(const Confusion& confusion, std::int64_t label,
                        const std::vector<std::string>& names) {
  std::int64_t most = -1;
  for (std::int64_t answer = 0; answer < confusion.classes(); ++answer)
    if (answer != label && confusion.count(label, answer) > 0 &&
        (most < 0 || confusion.count(label, answer) > confusion.count(label, most)))
      most = answer;
  return most < 0 ? "-" : fmt::format("{} ({})", name_of(most, names), confusion.count(label, most));
}

}  // namespace

Confusion::Confusion(std::int64_t classes)
    : classes_(classes), counts_(static_cast<std::size_t>(classes * (classes + 1))) {}

std::size_t Confusion::place(std::int64_t label, std::int64_t answer) const {
  check(label >= 0 && label < classes_ && answer < classes_, "a class is one of those that are counted");
  return static_cast<std::size_t>(label * (classes_ + 1) + (answer < 0 ? classes_ : answer));
}

void Confusion::add(std::span<const std::int64_t> answers, std::span<const std::int64_t> labels) {
  check(answers.size() == labels.size(), "there is an answer for each label");
  for (std::size_t i = 0; i < answers.size(); ++i) ++counts_[place(labels[i], answers[i])];
}

std::int64_t Confusion::count(std::int64_t label, std::int64_t answer) const {
  return std::llround(counts_[place(label, answer)]);
}

std::int64_t Confusion::pictures(std::int64_t label) const {
  const auto row = counts_.begin() + label * (classes_ + 1);
  return std::llround(std::accumulate(row, row + classes_ + 1, 0.0));
}

double Confusion::accuracy(std::int64_t label) const {
  return static_cast<double>(count(label, label)) /
         static_cast<double>(std::max<std::int64_t>(pictures(label), 1));
}

std::int64_t Confusion::only_answer() const {
  std::int64_t only = -1, seen = 0;
  for (std::int64_t label = 0; label < classes_; ++label) {
    if (pictures(label) > 0) ++seen;
    for (std::int64_t answer = 0; answer < classes_; ++answer) {
      if (count(label, answer) == 0 || answer == only) continue;
      if (only >= 0) return -1;
      only = answer;
    }
    if (count(label, -1) > 0) return -1;
  }
  return seen > 1 ? only : -1;
}

std::string per_class_table(const Confusion& confusion, const std::vector<std::string>& names,
                            std::int64_t worst) {
  std::vector<std::int64_t> labels;
  for (std::int64_t label = 0; label < confusion.classes(); ++label)
    if (confusion.pictures(label) > 0) labels.push_back(label);
  if (worst > 0) {
    std::ranges::stable_sort(labels, {}, [&](std::int64_t label) { return confusion.accuracy(label); });
    labels.resize(std::min(labels.size(), static_cast<std::size_t>(worst)));
  }
  const bool has_all = worst == 0 && confusion.classes() <= kMaxColumns;
  std::string head = "| class | pictures | accuracy |", line = "|---|--:|--:|";
  if (has_all) {
    for (std::int64_t answer = 0; answer < confusion.classes(); ++answer) {
      head += fmt::format(" as {} |", name_of(answer, names));
      line += "--:|";
    }
  } else {
    head += " most often taken for |";
    line += "---|";
  }
  std::string table = head + "\n" + line + "\n";
  for (std::int64_t label : labels) {
    table += fmt::format("| {} | {} | {:.4f} |", name_of(label, names), confusion.pictures(label),
                         confusion.accuracy(label));
    if (has_all)
      for (std::int64_t answer = 0; answer < confusion.classes(); ++answer)
        table += fmt::format(" {} |", confusion.count(label, answer));
    else
      table += fmt::format(" {} |", mistakes_of(confusion, label, names));
    table += "\n";
  }
  return table;
}

Image confusion_picture(const Confusion& confusion) {
  constexpr int kSide = 640, kMargin = 16, kBar = 24;
  const auto classes = static_cast<int>(confusion.classes());
  check(classes > 0, "a picture of a confusion matrix has classes");
  const int cell = std::clamp(kSide / classes, 1, 64), line = cell >= 8 ? 1 : 0;
  const int side = std::max(cell * classes, kBar);
  Image image(side + kBar + 3 * kMargin, side + 2 * kMargin);
  fill(image, 0, 0, image.width, image.height, {255, 255, 255});
  for (int label = 0; label < classes; ++label) {
    const double pictures = std::max(static_cast<double>(confusion.pictures(label)), 1.0);
    for (int answer = 0; answer < classes; ++answer)
      fill(image, kMargin + answer * cell, kMargin + label * cell, cell - line, cell - line,
           color_of(static_cast<double>(confusion.count(label, answer)) / pictures));
  }
  for (int y = 0; y < side; ++y)
    fill(image, side + 2 * kMargin, kMargin + y, kBar, 1, color_of(1 - y / std::max(side - 1.0, 1.0)));
  return image;
}

}  // namespace octet
