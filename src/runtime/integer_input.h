#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "tensor/pixel_table.h"

namespace octet {

// An input of floats that is quantized before anything else is done with it. A run takes the integers in its
// place.
struct IntegerInput {
  ValueId value = kNoValue;        // them, in the layout of this value
  std::vector<std::size_t> steps;  // the nodes that make them of the floats
};

// Nothing: the floats themselves are needed. `graph` has its layouts.
std::optional<IntegerInput> find_integer_input(const Graph& graph, ValueId input);

// What 8-bit pixels become there, if they stand for these floats.
PixelIntegers integers_of(const Graph& graph, const IntegerInput& input, const PixelValues& values);

}  // namespace octet
