#include <optional>

#include "graph/op_table.h"
#include "graph/ops/infer.h"
#include "kernels/epilogue.h"
#include "kernels/fast/layout.h"

namespace octet::fast {
namespace {

// What a node says once for all runs.
struct PairNode : Prepared {
  std::int64_t axis = -1;
  std::optional<Epilogue> epilogue;  // nothing when a run decides its scale
};

std::shared_ptr<const Prepared> prepare(const PrepareArgs& args) {
  auto prepared = std::make_shared<PairNode>();
  prepared->axis = attr<std::int64_t>(args.node, "axis");
  Tensor out_scale = args.constant("out_scale").aligned();
  if (!has_epilogue(args.node))
    prepared->epilogue = Epilogue();
  else if (!args.value("out_scale") || !out_scale.empty())
    prepared->epilogue = read_epilogue(args.node, out_scale.empty() ? nullptr : &out_scale);
  return prepared;
}

// The dims of the result, in the order of its memory, and the operands' strides along them: 0 where one is
// broadcast. Neighbouring dims along which both simply go on are joined, so that rows are long.
struct Loop {
  Shape dims, x, y;
};

Loop join(const Shape& dims, const Shape& x, const Shape& y) {
  Loop loop;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!loop.dims.empty() && loop.x.back() == x[i] * dims[i] && loop.y.back() == y[i] * dims[i]) {
      loop.dims.back() *= dims[i];
      loop.x.back() = x[i];
      loop.y.back() = y[i];
    } else {
      loop.dims.push_back(dims[i]);
      loop.x.push_back(x[i]);
      loop.y.push_back(y[i]);
    }
  }
  return loop.dims.empty() ? Loop{{1}, {0}, {0}} : loop;
}

Shape permuted(const Shape& shape, const std::vector<std::size_t>& order) {
  Shape result;
  for (std::size_t i : order) result.push_back(shape[i]);
  return result;
}

// An operand: `placed` is its shape with ones, of the rank of the result.
struct Operand {
  const std::byte* data;
  Shape strides;                // along the dims of the result, in the order of its memory
  std::vector<std::byte> copy;  // what `data` points to, where it had to be rearranged

  Operand(const Tensor& tensor, const Shape& placed, const MemoryDims& out, bool channels_last,
          const std::byte* overwritten)
      : data(tensor.bytes().data()) {
    strides = permuted(memory_strides(placed, channels_last), out.order);
    Shape own = permuted(placed, out.order);
    bool dense = tensor.size() > 0;
    std::int64_t step = 1;
    for (std::size_t i = own.size(); i-- > 0; step *= own[i])
      dense = dense && (own[i] == 1 || strides[i] == step);
    // The loops want neighbours of the result to be neighbours here; and what the result overwrites must be
    // read in its order, once.
    bool repeats = own != out.dims;
    if (!dense || (data == overwritten && repeats)) rearrange(size_of(tensor.dtype()), own);
    step = 1;
    for (std::size_t i = own.size(); i-- > 0; step *= own[i]) strides[i] = own[i] == 1 ? 0 : step;
  }

  void rearrange(std::size_t element, const Shape& own) {
    std::int64_t size = element_count(own);
    copy.resize(static_cast<std::size_t>(size) * element);
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t rest = i, from = 0;
      for (std::size_t d = own.size(); d-- > 0; rest /= own[d]) from += rest % own[d] * strides[d];
      std::copy_n(data + static_cast<std::size_t>(from) * element, element,
                  copy.data() + static_cast<std::size_t>(i) * element);
    }
    data = copy.data();
  }
};

// Splits the loop into rows and those among threads. `rows` has all that does not change from row to row.
void run_loop(const KernelArgs& args, const Loop& loop, std::size_t element, const simd::BinaryRows& all,
              void (*routine)(const simd::BinaryRows&)) {
  std::size_t rank = loop.dims.size();
  std::int64_t columns = loop.dims[rank - 1];
  auto moved = [&](const void* data, std::int64_t elements) {
    return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(element);
  };
  auto run = [&](std::int64_t x, std::int64_t y, std::int64_t index, simd::BinaryRows rows) {
    rows.x = moved(all.x, x);
    rows.y = moved(all.y, y);
    rows.floats = all.floats ? all.floats + index : nullptr;
    rows.integers = all.integers ? all.integers + index : nullptr;
    routine(rows);
  };
  simd::BinaryRows rows = all;
  rows.x_moves = loop.x[rank - 1] != 0;
  rows.y_moves = loop.y[rank - 1] != 0;
  if (rank == 1) {
    rows.rows = 1;
    rows.x_row = rows.y_row = 0;
    for_blocks(args.pool, columns, [&](std::int64_t begin, std::int64_t end) {
      simd::BinaryRows block = rows;
      block.columns = end - begin;
      run(rows.x_moves ? begin : 0, rows.y_moves ? begin : 0, begin, block);
    });
    return;
  }
  std::int64_t group = loop.dims[rank - 2], groups = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) groups *= loop.dims[i];
  rows.columns = columns;
  rows.x_row = loop.x[rank - 2];
  rows.y_row = loop.y[rank - 2];
  auto run_rows = [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::int64_t row = begin % group, rest = begin / group, x = row * rows.x_row, y = row * rows.y_row;
      for (std::size_t i = rank - 2; i-- > 0; rest /= loop.dims[i]) {
        x += rest % loop.dims[i] * loop.x[i];
        y += rest % loop.dims[i] * loop.y[i];
      }
      simd::BinaryRows block = rows;
      block.rows = std::min(group - row, end - begin);
      run(x, y, begin * columns, block);
      begin += block.rows;
    }
  };
  for_blocks(args.pool, group * groups, run_rows, std::max<std::int64_t>(1, (1 << 14) / columns));
}

void run_pair(const KernelArgs& args, simd::Binary op, bool int8) {
  const Tensor &x = *args.inputs[0], &y = *args.input("y");
  if (args.outputs[0].size() == 0) return;
  const auto& node = *static_cast<const PairNode*>(args.prepared);
  Epilogue epilogue = node.epilogue ? *node.epilogue : read_epilogue(args.node, args.input("out_scale"));
  simd::BinaryRows rows = {};
  rows.op = op;
  rows.epilogue = &epilogue;
  for (Tensor& output : args.outputs) {
    if (output.dtype() == DType::kInt8)
      rows.integers = output.mutable_data<std::int8_t>().data();
    else
      rows.floats = output.mutable_data<float>().data();
  }
  if (int8) {
    rows.x_step = args.input("x_step")->data<float>()[0];
    rows.y_step = args.input("y_step")->data<float>()[0];
    rows.x_zero = static_cast<float>(attr<int>(args.node, "x_zero"));
    rows.y_zero = static_cast<float>(attr<int>(args.node, "y_zero"));
  }
  auto routine = int8 ? args.simd->binary.run_int8 : args.simd->binary.run;
  std::size_t element = int8 ? 1 : sizeof(float);
  if (x.shape() == y.shape()) {
    rows.x = x.bytes().data();
    rows.y = y.bytes().data();
    return run_loop(args, {{x.size()}, {1}, {1}}, element, rows, routine);
  }
  ops::Broadcast shapes = ops::broadcast(x.shape(), y.shape(), node.axis);
  check(args.layout == Layout::kPlain || shapes.out.size() <= 4, "fits() has refused more dimensions");
  MemoryDims out(shapes.out, is_channels_last(args, args.outputs[0]));
  const std::byte* overwritten = args.outputs[0].bytes().data();
  Operand of_x(x, shapes.x, out, is_channels_last(args, x), overwritten);
  Operand of_y(y, shapes.y, out, is_channels_last(args, y), nullptr);
  rows.x = of_x.data;
  rows.y = of_y.data;
  run_loop(args, join(out.dims, of_x.strides, of_y.strides), element, rows, routine);
}

template <simd::Binary kOp>
void run_floats(const KernelArgs& args) {
  run_pair(args, kOp, false);
}
template <simd::Binary kOp>
void run_int8s(const KernelArgs& args) {
  run_pair(args, kOp, true);
}

// Of more than 4 dimensions, the reference takes care.
bool fits(const PrepareArgs& args) {
  return args.value("x")->shape.size() <= 4 && args.value("y")->shape.size() <= 4;
}
bool fits_floats(const PrepareArgs& args) {
  return args.value("x")->dtype == DType::kFloat32 && fits(args);
}

}  // namespace

std::vector<Implementation> binary() {
  auto row = [](std::string_view op, Kernel kernel, bool (*fits_node)(const PrepareArgs&)) {
    return Implementation{.op = op,
                          .name = "vector",
                          .layout = LayoutNeed::kSame,
                          .run = kernel,
                          .fits = fits_node,
                          .prepare = prepare,
                          .in_place = 0};
  };
  return {row("add", run_floats<simd::Binary::kAdd>, fits_floats),
          row("mul", run_floats<simd::Binary::kMul>, fits_floats),
          row("sub", run_floats<simd::Binary::kSub>, fits_floats),
          row("div", run_floats<simd::Binary::kDiv>, fits_floats),
          row("max", run_floats<simd::Binary::kMax>, fits_floats),
          row("min", run_floats<simd::Binary::kMin>, fits_floats),
          row("prelu", run_floats<simd::Binary::kPrelu>, fits_floats),
          row("qadd", run_int8s<simd::Binary::kAdd>, fits),
          row("qmul", run_int8s<simd::Binary::kMul>, fits)};
}

}  // namespace octet::fast
