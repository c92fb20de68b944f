#include <algorithm>

#include "graph/op_table.h"

namespace octet {

const OpSpec& spec_of(const Node& node) {
  static const OpSpec unknown{.inputs = {}, .outputs = {}, .trainable = false};
  const OpSpec* spec = find_op(node.op);
  return spec ? *spec : unknown;
}

bool is_optional(std::string_view slot) {
  return slot.ends_with('?');
}

bool is_variadic(std::string_view slot) {
  return slot.ends_with('*');
}

std::string_view slot_name(std::string_view slot) {
  return slot.substr(0, slot.find_first_of("?*"));
}

int slot_of(const OpSpec& spec, std::string_view name) {
  // Kernels ask for each run, so this does not look for the mark first.
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    if (spec.inputs[i].starts_with(name) && slot_name(spec.inputs[i]) == name) return static_cast<int>(i);
  return -1;
}

ValueId input_of(const Node& node, std::string_view slot) {
  int index = slot_of(spec_of(node), slot);
  auto i = static_cast<std::size_t>(index);
  return index >= 0 && i < node.inputs.size() ? node.inputs[i] : kNoValue;
}

void set_input(Node& node, std::string_view slot, ValueId id) {
  int index = slot_of(spec_of(node), slot);
  check(index >= 0, "an input is set that the op does not have");
  auto i = static_cast<std::size_t>(index);
  if (node.inputs.size() <= i) node.inputs.resize(i + 1, kNoValue);
  node.inputs[i] = id;
}

std::string_view slot_at(const Node& node, std::size_t i) {
  const std::vector<std::string_view>& slots = spec_of(node).inputs;
  return slots.empty() ? std::string_view() : slot_name(slots[std::min(i, slots.size() - 1)]);
}

bool has_attr(const OpSpec& spec, std::string_view name) {
  return std::any_of(spec.attrs.begin(), spec.attrs.end(),
                     [&](const AttrSpec& attr) { return attr.name == name; });
}

bool is_product(const Node& node) {
  return !spec_of(node).weights.empty();
}

bool has_epilogue(const Node& node) {
  return slot_of(spec_of(node), "out_scale") >= 0;
}

namespace {

bool is_among(const std::vector<std::string_view>& slots, std::string_view slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

bool is_learned(const Node& node, std::size_t i) {
  return is_among(spec_of(node).learned, slot_at(node, i));
}

bool is_statistic(const Node& node, std::size_t i) {
  return is_among(spec_of(node).statistics, slot_at(node, i));
}

bool keeps_values(const Node& node) {
  const OpSpec& spec = spec_of(node);
  return spec.selects || (spec.kind == OpKind::kPool && attr<std::string>(node, "type") == "max");
}

ValueId weights_of(const Node& node) {
  const OpSpec& spec = spec_of(node);
  return spec.weights.empty() ? kNoValue : input_of(node, spec.weights);
}

int weight_channel_axis(const Graph& graph, const Node& node) {
  ValueId weights = weights_of(node);
  return weights == kNoValue ? -1 : spec_of(node).channel_axis(node, graph.value(weights).shape);
}

std::int64_t output_channels(const Graph& graph, const Node& node) {
  ValueId weights = weights_of(node);
  return weights == kNoValue ? kUnknown : output_channels(node, graph.value(weights).shape);
}

std::int64_t output_channels(const Node& node, const Shape& weights) {
  const OpSpec& spec = spec_of(node);
  int axis = spec.channel_axis(node, weights);
  if (axis < 0) return kUnknown;
  std::int64_t channels = weights[static_cast<std::size_t>(axis)];
  // The weights of a transposed convolution have those of one group.
  bool of_one_group = spec.kind == OpKind::kConvolution && axis == 1;
  return of_one_group && channels != kUnknown ? channels * attr<std::int64_t>(node, "groups") : channels;
}

std::int64_t multiply_adds(const Graph& graph, const Node& node, const Shape& output) {
  ValueId weights = weights_of(node);
  if (weights == kNoValue || !is_known(output) || !is_known(graph.value(weights).shape)) return 0;
  return spec_of(node).multiply_adds(node, graph.value(weights).shape, output);
}

bool is_quantized(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const OpSpec& spec = spec_of(node);
    return spec.kind == OpKind::kQuantization || spec.is_integer;
  });
}

}  // namespace octet
