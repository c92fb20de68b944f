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
      const bool is_small = input.numel() <= 16 && input.dim() <= 1;
      if (is_small) {
        tensors_.push_back(from_torch(input));
        info.data = &tensors_.back();
      }
      infos_.push_back(std::move(info));
      pointers_.push_back(&infos_.back());
    }
  }
  std::span<const ValueInfo* const> get() const { return pointers_; }

  // The shape of the node's only output.
  Shape output_shape(const Node& node) const {
    ValueInfo out;
    find_op(node.op)->infer(node, pointers_, {&out, 1});
    return out.shape;
  }

 private:
  std::vector<ValueInfo> infos_;
  std::vector<Tensor> tensors_;
  std::vector<const ValueInfo*> pointers_;
};

}  // namespace octet::train
