#pragma once
#include <string>

#include "graph/graph.h"

// Users name kinds of layers as Paddle does, and reports do so, too.
namespace octet::quant {

// What Paddle calls the op of a node; its own name where that is the same.
std::string paddle_type(const Graph& graph, const Node& node);

// Whether paddle_type ever says this, or a word that means one of these.
bool is_paddle_type(std::string_view type);

}  // namespace octet::quant
