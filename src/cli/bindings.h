#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/predictor.h"
#include "tensor/tensor.h"

namespace octet::cli {

// A tensor of the model and the file that it is read from or written to.
struct Binding {
  std::string name;
  std::string file;
};

// Splits [NAME=]FILE and gives those without a name the model's own tensors, in their order, that no other
// one names.
std::vector<Binding> bind_files(const char* flag, const std::vector<std::string>& words,
                                const std::vector<TensorInfo>& own, const Graph& graph);

// The array in `file`, if its dtype and number of dimensions are those of `input`. The sizes are the model's
// business: a declared one does not bind.
Tensor load_input(const TensorHandle& input, const std::string& file);

}  // namespace octet::cli
