#include "graph/quantization.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The shapes of all values when unknown dimensions of the inputs are `size`; empty when that size does not go
// through the graph.
std::vector<Shape> shapes_at(const Graph& graph, std::int64_t size) {
  std::vector<ValueInfo> infos;
  for (const Value& value : graph.values)
    infos.push_back({value.dtype, value.is_constant() ? value.shape : Shape{kUnknown},
                     value.is_constant() ? &value.constant : nullptr});
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).shape;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i == 0 || shape[i] == kUnknown) shape[i] = i == 0 ? 2 : size + 32 * static_cast<std::int64_t>(i);
    infos[static_cast<std::size_t>(id)].shape = std::move(shape);
  }
  std::vector<Shape> shapes;
  try {
    for (ValueInfo& info : infer_values(graph, std::move(infos)).infos)
      shapes.push_back(std::move(info.shape));
  } catch (const Error&) {
    return {};
  }
  return shapes;
}

// Integer layers add integers: what lies in front of a dequantize node takes the place of the floats behind
// it.
void use_integers(Graph& graph, const std::vector<Node*>& maker, Node& layer) {
  const Node* dequantize = maker[static_cast<std::size_t>(input_of(layer, "residual"))];
  if (!spec_of(layer).is_integer || !dequantize || dequantize->op != "dequantize") return;
  const std::optional<Quantization> scale = quantization_of(graph, *dequantize);
  if (!scale || !has_integer_kernels(*scale) || !scale->is_per_tensor()) return;
  const auto step = static_cast<float>(scale->step());
  if (step <= 0) return;
  // A zero point adds the same to all numbers of a channel, as the bias does.
  if (scale->zero_point() != 0) {
    const ValueId bias = input_of(layer, "bias"), multiplier = input_of(layer, "multiplier");
    if (bias != kNoValue && !graph.value(bias).is_constant()) return;
    Tensor moved(DType::kFloat32, {output_channels(graph, layer)});
    const Tensor given = bias == kNoValue ? Tensor() : graph.value(bias).constant.aligned();
    for (std::size_t i = 0; float& value : moved.mutable_data<float>())
      value =
          (given.empty() ? 0.0f : given.data<float>()[i++]) - static_cast<float>(scale->zero_point()) * step;
    set_input(layer, "bias", graph.add_constant(graph.value(multiplier).name + ".moved_bias", moved));
  }
  set_input(layer, "residual", dequantize->inputs[0]);
  layer.attrs["residual_step"] = static_cast<double>(step);
}

}  // namespace

void fuse_residual(Graph& graph) {
  Uses uses(graph);
  // A residual has the output's shape. Where the model leaves dimensions open, two sizes tell: an addition
  // that broadcasts would show at one of them.
  std::vector<Shape> small = shapes_at(graph, 96), large = shapes_at(graph, 224);
  if (small.empty() && large.empty()) return;
  auto same_shape = [&](ValueId a, ValueId b) {
    for (const std::vector<Shape>* shapes : {&small, &large}) {
      if (shapes->empty()) continue;
      const Shape &left = (*shapes)[static_cast<std::size_t>(a)],
                  &right = (*shapes)[static_cast<std::size_t>(b)];
      if (left != right || !is_known(left)) return false;
    }
    return true;
  };
  std::vector<Node*> maker(graph.values.size(), nullptr);
  std::vector<int> order(graph.values.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (ValueId id : graph.nodes[i].outputs)
      if (id != kNoValue) {
        maker[static_cast<std::size_t>(id)] = &graph.nodes[i];
        order[static_cast<std::size_t>(id)] = static_cast<int>(i);
      }
  auto order_of = [&](ValueId id) { return order[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& add = graph.nodes[i];
    if (add.op != "add" || !is_open(add) || add.inputs[0] == add.inputs[1]) continue;
    auto can_take = [&](ValueId sum, ValueId other) {
      const Node* layer = maker[static_cast<std::size_t>(sum)];
      return layer && is_product(*layer) && is_open(*layer) && uses.only_for_one(sum) &&
             input_of(*layer, "residual") == kNoValue && graph.value(other).dtype == DType::kFloat32 &&
             same_shape(sum, other);
    };
    // The later of both takes the earlier one as its residual, if it can: that one is there in time.
    ValueId sum = add.inputs[0], other = add.inputs[1];
    if (order_of(other) > order_of(sum)) std::swap(sum, other);
    const bool later = can_take(sum, other);
    if (!later) std::swap(sum, other);
    if (!later && !can_take(sum, other)) continue;
    Node *layer = maker[static_cast<std::size_t>(sum)], *addition = &add;
    if (!later) {  // the earlier one moves behind its residual: nobody but the addition reads it
      std::swap(*layer, *addition);
      std::swap(layer, addition);
    }
    set_input(*layer, "residual", other);
    use_integers(graph, maker, *layer);
    ValueId result = addition->outputs[0];
    take_over(*layer, *addition);
    maker[static_cast<std::size_t>(result)] = layer;
    order[static_cast<std::size_t>(result)] = static_cast<int>(layer - graph.nodes.data());
  }
  remove_taken_over(graph);
}

}  // namespace octet
