#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image.h"

namespace octet {

// How often things of each class were taken for each class. All that it knows is counts, which threads and
// processes add up.
class Confusion {
 public:
  explicit Confusion(std::int64_t classes = 0);

  // Answers (Task::decide) beside the true classes; an answer of -1 is none, and is right nowhere.
  void add(std::span<const std::int64_t> answers, std::span<const std::int64_t> labels);
  std::span<double> sums() { return counts_; }  // a row a class: its answers, and those that are none

  std::int64_t classes() const { return classes_; }
  std::int64_t count(std::int64_t label, std::int64_t answer) const;
  std::int64_t pictures(std::int64_t label) const;
  double accuracy(std::int64_t label) const;  // 0 where there are no pictures
  // The class that all pictures were taken for, where they are of more than one class; -1: there is none.
  std::int64_t only_answer() const;

 private:
  std::size_t place(std::int64_t label, std::int64_t answer) const;

  std::int64_t classes_;
  std::vector<double> counts_;
};

// More than so many classes are not worth the memory.
constexpr std::int64_t kMaxClasses = 4096;

// With no more classes than this a table has all counts; with more, what each class is taken for most often.
constexpr std::int64_t kMaxColumns = 20;

// A table with a row for each class that has pictures. `names` are those of the classes; none: their numbers.
// `worst`: only so many, those of the lowest accuracy; 0: all, in their order.
std::string per_class_table(const Confusion& confusion, const std::vector<std::string>& names,
                            std::int64_t worst = 0);

// A square for each count: rows are classes, columns are answers, the colour is the share of the row. The bar
// on the right is the scale, from 0 at the bottom to 1.
Image confusion_picture(const Confusion& confusion);

}  // namespace octet
