#include <algorithm>

#include "graph/activation.h"
#include "graph/ops/einsum.h"
#include "kernels/ref/activation.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

// One direction of an LSTM; matrices are those of this direction.
struct Direction {
  std::int64_t hidden;
  std::vector<float> recurrent;  // hidden x 4 hidden: transposed, so that the sums lie side by side
  const float* peephole;         // of i, o, f; or null
  bool reverse;

  // One step of one sequence: gates are i, o, f, c. Each sum begins with what x gives and goes on in the
  // order of the hidden state, product and sum rounded.
  void step(const float* x, float* gates, float* h, float* c) const {
    std::int64_t width = 4 * hidden;
    std::copy_n(x, width, gates);
    for (std::int64_t k = 0; k < hidden; ++k) {
      const float* row = recurrent.data() + k * width;
      float value = h[k];
      for (std::int64_t j = 0; j < width; ++j) gates[j] += value * row[j];
    }
    auto seen = [&](std::int64_t gate, std::int64_t i, float state) {
      return peephole ? peephole[gate * hidden + i] * state : 0.0f;
    };
    for (std::int64_t i = 0; i < hidden; ++i) {
      float in = sigmoid_of(gates[i] + seen(0, i, c[i]));
      float forget = sigmoid_of(gates[2 * hidden + i] + seen(2, i, c[i]));
      c[i] = forget * c[i] + in * tanh_of(gates[3 * hidden + i]);
      h[i] = sigmoid_of(gates[hidden + i] + seen(1, i, c[i])) * tanh_of(c[i]);
    }
  }
};

std::vector<float> transposed(const float* matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<float> result(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      result[static_cast<std::size_t>(c * rows + r)] = matrix[r * columns + c];
  return result;
}

}  // namespace

void lstm(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &recurrent = *args.input("recurrent");
  std::int64_t steps = x.dim(0), batch = x.dim(1), directions = recurrent.dim(0), hidden = recurrent.dim(2);
  std::string mode = attr<std::string>(args.node, "direction");
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), steps);
  if (const Tensor* given = args.input("lengths")) lengths = to_int64s(*given);
  for (std::int64_t length : lengths)
    if (length < 0 || length > steps) fail("lstm: a sequence of {} among {} steps", length, steps);
  const Tensor* peephole = args.input("peephole");
  std::vector<Direction> ways;
  for (std::int64_t d = 0; d < directions; ++d)
    ways.push_back(
        {hidden, transposed(recurrent.data<float>().data() + d * 4 * hidden * hidden, 4 * hidden, hidden),
         peephole ? peephole->data<float>().data() + d * 3 * hidden : nullptr, mode == "reverse" || d == 1});
  auto state = [&](std::string_view slot, std::int64_t row) {
    std::vector<float> values(static_cast<std::size_t>(hidden), 0.0f);
    if (const Tensor* given = args.input(slot))
      std::copy_n(given->data<float>().data() + row * hidden, hidden, values.data());
    return values;
  };
  float* y = args.outputs[0].mutable_data<float>().data();
  args.pool.parallel_for(directions * batch, [&](std::int64_t row) {
    std::int64_t d = row / batch, n = row % batch, length = lengths[static_cast<std::size_t>(n)];
    const Direction& way = ways[static_cast<std::size_t>(d)];
    std::vector<float> h = state("h0", row), c = state("c0", row),
                       gates(static_cast<std::size_t>(4 * hidden));
    for (std::int64_t i = 0; i < steps; ++i) {
      std::int64_t t = way.reverse && i < length ? length - 1 - i : i;
      float* to = y + ((t * directions + d) * batch + n) * hidden;
      if (i >= length) {
        std::fill_n(to, hidden, 0.0f);
        continue;
      }
      way.step(x.data<float>().data() + ((t * batch + n) * directions + d) * 4 * hidden, gates.data(),
               h.data(), c.data());
      std::copy(h.begin(), h.end(), to);
    }
    for (std::size_t i = 1; i < args.outputs.size(); ++i)
      std::copy_n((i == 1 ? h : c).data(), hidden,
                  args.outputs[i].mutable_data<float>().data() + row * hidden);
  });
}

// Each element of the result is a sum in double over the labels that it does not have, in order, of products
// of floats.
void einsum(const KernelArgs& args) {
  std::vector<Shape> shapes;
  for (const Tensor* input : args.inputs) shapes.push_back(input->shape());
  ops::EinsumPlan plan = ops::einsum_plan(args.node, shapes);
  std::size_t operands = shapes.size();
  // How far apart an operand's elements are along each label: 0 where it has none, or one of 1.
  std::vector<Shape> strides(operands, Shape(plan.sizes.size(), 0));
  for (std::size_t i = 0; i < operands; ++i) {
    Shape own = broadcast_strides(shapes[i]);
    for (std::size_t d = 0; d < own.size(); ++d) strides[i][plan.operands[i][d]] += own[d];
  }
  auto of = [&](const std::vector<std::size_t>& labels, const Shape& values) {
    Shape result;
    for (std::size_t label : labels) result.push_back(values[label]);
    return result;
  };
  Shape kept = of(plan.output, plan.sizes), gone = of(plan.summed, plan.sizes);
  std::int64_t terms = count_of(gone, 0, gone.size());
  float* y = args.outputs[0].mutable_data<float>().data();
  args.pool.parallel_for(args.outputs[0].size(), [&](std::int64_t o) {
    std::vector<const float*> from;
    for (std::size_t i = 0; i < operands; ++i)
      from.push_back(args.inputs[i]->data<float>().data() +
                     offset_of(o, kept, of(plan.output, strides[i]), kept.size()));
    double sum = 0;
    if (operands == 2) {
      walk(gone, std::array<Shape, 2>{of(plan.summed, strides[0]), of(plan.summed, strides[1])}, 0, terms,
           [&](std::int64_t, const std::array<std::int64_t, 2>& at) {
             sum += static_cast<double>(from[0][at[0]]) * static_cast<double>(from[1][at[1]]);
           });
    } else {
      std::vector<Shape> steps;
      for (std::size_t i = 0; i < operands; ++i) steps.push_back(of(plan.summed, strides[i]));
      for (std::int64_t t = 0; t < terms; ++t) {
        double product = 1;
        for (std::size_t i = 0; i < operands; ++i)
          product *= static_cast<double>(from[i][offset_of(t, gone, steps[i], gone.size())]);
        sum += product;
      }
    }
    y[o] = static_cast<float>(sum);
  });
}

}  // namespace octet::ref
