#include "kernels/kernel.h"

#include "graph/op_table.h"

namespace octet {

const Tensor* KernelArgs::input(std::string_view slot) const {
  const int i = slot_of(spec ? *spec : spec_of(node), slot);
  return i >= 0 && static_cast<std::size_t>(i) < inputs.size() ? inputs[static_cast<std::size_t>(i)]
                                                               : nullptr;
}

const Value* PrepareArgs::value(std::string_view slot) const {
  const ValueId id = input_of(node, slot);
  return id == kNoValue ? nullptr : &graph.value(id);
}

}  // namespace octet
