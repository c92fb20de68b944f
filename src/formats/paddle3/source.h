#pragma once
#include <unordered_map>
#include <vector>

#include "formats/paddle3/program.h"
#include "formats/paddle_common/as_read.h"

namespace octet::paddle3 {

// Nodes that were read from one op, or from an op and the one that takes its list of results apart.
struct Group {
  std::size_t first_node = 0, node_count = 0;  // in AsRead::nodes
  std::vector<std::size_t> ops;                // in Program::ops
};

// The program that a graph was read from, beside the graph as it was then.
struct Paddle3Source : paddle::AsRead {
  Program program;
  std::vector<Group> groups;
  std::vector<std::size_t> group_of_node;
  std::unordered_map<std::string, Id> ids;     // of values, by their names in the graph
  std::unordered_map<Id, std::size_t> makers;  // the op that defines a value
  std::unordered_map<Id, Id> same;             // values that are others, unchanged: an op's result and input
  std::vector<std::size_t> input_ops, output_ops;
  Id largest_id = 0;
};

}  // namespace octet::paddle3
