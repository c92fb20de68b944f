#pragma once
#include "graph/ops/infer.h"
#include "graph/ops/nms.h"

namespace octet::ops {

// The numbers of a non_max_suppression node; nothing while an input that holds one is not known.
std::optional<NmsOptions> nms_options(const Node& node, Inputs inputs);

}  // namespace octet::ops
