#pragma once
#include <vector>

#include "graph/op_table.h"
#include "kernels/kernel.h"

namespace octet::ref {

// A kernel's inputs as the shape inference sees them, for the functions that both share.
class InputInfos {
 public:
  explicit InputInfos(const KernelArgs& args)
      : infos_(args.inputs.size()), pointers_(args.inputs.size(), nullptr) {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      if (!args.inputs[i]) continue;
      infos_[i] = {args.inputs[i]->dtype(), args.inputs[i]->shape(), args.inputs[i]};
      pointers_[i] = &infos_[i];
    }
  }
  InputInfos(const InputInfos&) = delete;
  InputInfos& operator=(const InputInfos&) = delete;

  std::span<const ValueInfo* const> get() const { return pointers_; }

 private:
  std::vector<ValueInfo> infos_;
  std::vector<const ValueInfo*> pointers_;
};

}  // namespace octet::ref
