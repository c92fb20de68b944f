#pragma once
#include <string>
#include <vector>

#include "metrics/agreement.h"
#include "metrics/compare.h"
#include "tensor/tensor.h"

namespace octet::cli {

// How one output of a model is, against that of another one.
struct OutputRow {
  std::string name;
  Comparer numbers = {};
  Agreement agreement = {};  // of class scores; of whole numbers, how many are equal
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
