#pragma once
#include <string>
#include <vector>

#include "metrics/compare.h"
#include "tensor/tensor.h"

namespace octet::cli {

// How one output of a model is, against that of another one.
struct OutputRow {
  std::string name;
  Comparer numbers = {};
  // Where there are classes to choose from, how often both choose the same one: along dimension 1, or the
  // last of three. Of whole numbers, how many are equal.
  std::int64_t decisions = 0, agreed = 0;

  double agreement() const { return static_cast<double>(agreed) / static_cast<double>(decisions); }
};

// Holds all outputs of a model against another's, which are in the same order, batch after batch.
class OutputComparison {
 public:
  // An Error when the outputs are not as many, or not of the same shapes.
  void add(const std::vector<std::string>& names, const std::vector<Tensor>& expected,
           const std::vector<Tensor>& actual);
  const std::vector<OutputRow>& rows() const { return rows_; }

 private:
  std::vector<OutputRow> rows_;
};

}  // namespace octet::cli
