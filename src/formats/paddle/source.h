#pragma once
#include <vector>

#include "formats/paddle/program.h"
#include "formats/paddle_common/as_read.h"

namespace octet::paddle {

// The program that a graph was read from, beside the graph as it was then.
struct PaddleSource : AsRead {
  Program program;
  std::vector<int> op_of_node;       // index into program.ops; ascending, and equal for nodes of one op
  std::vector<bool> has_file_names;  // whether all values of the node have the names that the file uses
};

}  // namespace octet::paddle
