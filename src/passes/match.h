#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_table.h"
#include "passes/uses.h"

// What the passes that recognise ops in what exporters spell out have in common: looking at a value's makers.
namespace octet {

// y = factor * x + shift, with numbers; what a chain of mul, div, add, sub and scale by constants makes of x.
struct Affine {
  ValueId x = kNoValue;
  double factor = 1, shift = 0;
};

// scale * terms[0] * terms[1] * ...: what a tree of mul, and of div and scale by constants, multiplies.
struct Product {
  double scale = 1;
  std::vector<ValueId> terms;
};

bool is_near(double a, double b);  // but for the rounding of constants to float

// Makes another op of a node, which keeps its outputs.
void become(Node& node, std::string op, std::vector<ValueId> inputs, Attrs attrs);

class Match {
 public:
  explicit Match(const Graph& graph) : graph_(graph), uses_(graph) {}

  // The node that makes a float value, if it is of this op and ends in nothing else; null otherwise.
  const Node* maker(ValueId id, std::string_view op) const;
  // The number that a constant of one float is.
  std::optional<double> number(ValueId id) const;
  // The constant is broadcast to x, and does not add dimensions to it.
  Affine affine(ValueId id) const;
  Product product(ValueId id) const;
  // The other input of a node of two, if one of them is `id`.
  static ValueId other(const Node& node, ValueId id);

  const Graph& graph() const { return graph_; }
  const Uses& uses() const { return uses_; }

 private:
  std::optional<Affine> step(const Node& node) const;
  const Node* node_of(ValueId id) const;

  const Graph& graph_;
  Uses uses_;
};

}  // namespace octet
