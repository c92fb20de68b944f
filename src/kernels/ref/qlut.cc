#include "kernels/ref/blocks.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

void qlut(const KernelArgs& args) {
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  const std::int8_t* table = args.inputs[1]->data<std::int8_t>().data();
  std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = table[x[i] + 128];
  });
}

}  // namespace octet::ref
