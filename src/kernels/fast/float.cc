#include "kernels/fast/float.h"

#include <algorithm>

#include "graph/op_table.h"

namespace octet::fast {

Tensor pack_bias(const simd::FloatRoutines& routines, const Tensor& bias) {
  if (bias.empty()) return {};
  Tensor packed(DType::kFloat32, {round_up(bias.size(), routines.lanes)});
  auto from = bias.aligned();
  auto to = packed.mutable_data<float>();
  std::fill(std::copy(from.data<float>().begin(), from.data<float>().end(), to.begin()), to.end(), 0.0f);
  return packed;
}

bool constants_are_weights(const PrepareArgs& args) {
  return args.is_constant(spec_of(args.node).weights) && (!args.value("bias") || args.is_constant("bias")) &&
         !args.is_constant("x") && !args.is_constant("residual");
}

simd::FloatTarget find_target(const KernelArgs& args, const Epilogue& epilogue, std::int64_t stride) {
  simd::FloatTarget target{&epilogue, nullptr, nullptr, nullptr, stride};
  if (const Tensor* residual = args.input("residual")) target.residual = residual->data<float>().data();
  for (Tensor& output : args.outputs) {
    if (output.dtype() == DType::kInt8)
      target.integers = output.mutable_data<std::int8_t>().data();
    else
      target.floats = output.mutable_data<float>().data();
  }
  return target;
}

simd::FloatTarget advance(simd::FloatTarget target, std::int64_t elements) {
  if (target.residual) target.residual += elements;
  if (target.floats) target.floats += elements;
  if (target.integers) target.integers += elements;
  return target;
}

Tasks split_product(const KernelArgs& args, std::int64_t rows, std::int64_t columns, std::int64_t row_bytes,
                    std::int64_t macs, std::int64_t shared_bytes) {
  constexpr std::int64_t kTile = 24;               // rows: a multiple of the height of most tiles
  constexpr std::int64_t kMostRows = 384;          // so that arrays of pointers stay small
  constexpr std::int64_t kSmallestTask = 1 << 18;  // multiply-adds, about 5 us: less is not worth a thread
  Tasks tasks{rows, columns, 0, {0}};
  std::int64_t threads = args.pool.threads();
  std::int64_t wanted =
      threads == 1 ? 1 : 3 * threads;  // tasks, so that all threads end at about the same time
  wanted = std::clamp<std::int64_t>(rows * columns * macs / kSmallestTask, 1, wanted);

  // With few rows the weights are most of the work's memory, so each thread takes other columns.
  std::int64_t parts = rows < columns && rows <= 64 ? wanted : 1;
  for (std::int64_t part = 1, column = 0; part < parts; ++part) {
    for (std::int64_t goal = part * columns / parts; column < goal;)
      column += args.simd->f32.panel_width(columns - column);
    if (column < columns && column > tasks.first_columns.back()) tasks.first_columns.push_back(column);
  }
  tasks.first_columns.push_back(columns);

  std::int64_t block =
      std::clamp((kBlockBytes - shared_bytes) / std::max<std::int64_t>(row_bytes, 1), kTile, kMostRows);
  std::int64_t blocks = divide_up(std::max<std::int64_t>(rows, 1), block);
  if (parts == 1) blocks = std::max(blocks, std::min(wanted, divide_up(rows, kTile)));
  tasks.block = round_up(divide_up(std::max<std::int64_t>(rows, 1), blocks), blocks == 1 ? 1 : 6);
  return tasks;
}

}  // namespace octet::fast
