#include <algorithm>

#include "graph/ops/einsum.h"
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

// A tensor of this shape, as far as is known.
void require_shape(const ValueInfo* value, std::string_view what, const Shape& shape) {
  if (!value) return;
  require_rank(*value, what, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    merge_dims(value->shape[i], shape[i], fmt::format("dimension {} of {}", i, what));
}

void infer_lstm(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo &x = *inputs[0], &recurrent = *inputs[1];
  require_float(x, "x");
  require_float(recurrent, "recurrent");
  require_rank(x, "x", 3);
  require_rank(recurrent, "recurrent", 3);
  std::int64_t directions = attr<std::string>(node, "direction") == "bidirectional" ? 2 : 1;
  std::int64_t hidden = recurrent.shape[2], steps = x.shape[0], batch = x.shape[1];
  bool known = hidden != kUnknown;
  require_shape(&recurrent, "recurrent", {directions, known ? 4 * hidden : kUnknown, hidden});
  merge_dims(x.shape[2], known ? directions * 4 * hidden : kUnknown, "the gates of x and recurrent");
  for (std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
    if (const ValueInfo* value = input_at(inputs, i)) require_float(*value, slot_at(node, i));
  require_shape(input_at(inputs, 2), "h0", {directions, batch, hidden});
  require_shape(input_at(inputs, 3), "c0", {directions, batch, hidden});
  require_shape(input_at(inputs, 4), "peephole", {directions, known ? 3 * hidden : kUnknown});
  if (const ValueInfo* lengths = input_at(inputs, 5)) {
    require_dtype(*lengths, "lengths", {DType::kInt32, DType::kInt64});
    require_vector(*lengths, "lengths", batch);
  }
  outputs[0] = {DType::kFloat32, {steps, directions, batch, hidden}};
  for (std::size_t i = 1; i < outputs.size(); ++i)
    outputs[i] = {DType::kFloat32, {directions, batch, hidden}};
}

void infer_einsum(const Node& node, Inputs inputs, Outputs outputs) {
  std::vector<Shape> shapes;
  for (const ValueInfo* input : inputs) {
    require_float(*input, "x");
    shapes.push_back(input->shape);
  }
  EinsumPlan plan = einsum_plan(node, shapes);
  Shape out;
  for (std::size_t label : plan.output) out.push_back(plan.sizes[label]);
  outputs[0] = {DType::kFloat32, std::move(out)};
}

}  // namespace

EinsumPlan einsum_plan(const Node& node, const std::vector<Shape>& shapes) {
  EinsumPlan plan;
  std::vector<std::vector<std::size_t>> groups(1);
  for (std::int64_t label : attr<IntList>(node, "labels")) {
    if (label < 0)
      groups.emplace_back();
    else
      groups.back().push_back(static_cast<std::size_t>(label));
  }
  if (groups.size() != shapes.size() + 1)
    fail("labels has {} groups, expected one for each of {} inputs and one for the result", groups.size(),
         shapes.size());
  plan.output = groups.back();
  groups.pop_back();
  plan.operands = std::move(groups);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (plan.operands[i].size() != shapes[i].size())
      fail("{} labels for an input of shape {}", plan.operands[i].size(), to_string(shapes[i]));
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      std::size_t label = plan.operands[i][d];
      if (plan.sizes.size() <= label) plan.sizes.resize(label + 1, 1);
      try {
        plan.sizes[label] = broadcast_dims(plan.sizes[label], shapes[i][d]);
      } catch (const Error& error) {
        fail("label {}: {}", label, error.what());
      }
    }
  }
  std::vector<bool> in_output(plan.sizes.size(), false), used(plan.sizes.size(), false);
  for (const auto& operand : plan.operands)
    for (std::size_t label : operand) used[label] = true;
  for (std::size_t label : plan.output) {
    if (label >= used.size() || !used[label]) fail("the result has label {}, which no input has", label);
    if (in_output[label]) fail("the result has label {} twice", label);
    in_output[label] = true;
  }
  for (std::size_t label = 0; label < used.size(); ++label)
    if (used[label] && !in_output[label]) plan.summed.push_back(label);
  return plan;
}

std::vector<OpSpec> sequence() {
  return {{.name = "lstm",
           .inputs = {"x", "recurrent", "h0?", "c0?", "peephole?", "lengths?"},
           .outputs = {"y", "h?", "c?"},
           .attrs = {{"direction", "forward", words({"forward", "reverse", "bidirectional"})}},
           .infer = infer_lstm,
           .kind = OpKind::kReduction,
           .trainable = false},
          {.name = "einsum",
           .inputs = {"x*"},
           .attrs = {{"labels", IntList{}, {.min = -1, .max = 63, .max_count = 256}}},
           .infer = infer_einsum,
           .kind = OpKind::kReduction,
           .trainable = false}};
}

}  // namespace octet::ops
