#pragma once
#include "graph/op_table.h"
#include "train/convert.h"
#include "train/ops.h"

namespace octet::train {

// What the graph's own code for shapes wants to know of the inputs. Only integers have data: those are small.
class Infos {
 public:
  explicit Infos(const Call& call) {
    infos_.reserve(call.inputs.size());
    tensors_.reserve(call.inputs.size());
    for (const at::Tensor& input : call.inputs) {
      if (!input.defined()) {
        pointers_.push_back(nullptr);
        continue;
      }
      ValueInfo info{dtype_of(input.scalar_type()), input.sizes().vec(), nullptr};

    }  // namespace octet::train
