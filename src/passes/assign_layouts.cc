#include <map>

#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet {

namespace {

class Assignment {
 public:
  explicit Assignment(Graph& graph) : graph_(graph) {}

  void run(const std::function<LayoutNeed(const Node&)>& need) {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      Layout layout = choose(node, need(node));
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (is_image(node.inputs[i]))
          node.inputs[i] = in_layout(node.inputs[i], is_weight(node, i) ? Layout::kPlain : layout);
      for (ValueId id : node.outputs)
        if (is_image(id)) graph_.value(id).layout = layout;
      graph_.nodes.push_back(std::move(node));
    }
    // The user gets plain tensors, under the name that the graph gives them.
    for (ValueId& id : graph_.outputs)
      if (is_image(id)) id = output_in_plain(id);
  }

 private:
  bool is_image(ValueId id) const { return id != kNoValue && graph_.value(id).shape.size() == 4; }

  // A kernel has four dimensions but is no image: it is always plain.
  static bool is_weight(const Node& node, std::size_t input) {
    const OpSpec& spec = spec_of(node);
    return spec.kind == OpKind::kConvolution && slot_at(node, input) == spec.weights;
  }

  Layout choose(const Node& node, LayoutNeed need) const {
    if (need == LayoutNeed::kPlain) return Layout::kPlain;
    if (need == LayoutNeed::kChannelsLast) return Layout::kChannelsLast;
    for (ValueId id : node.inputs)
      if (is_image(id) && graph_.value(id).layout == Layout::kChannelsLast) return Layout::kChannelsLast;
    return Layout::kPlain;
  }

  ValueId in_layout(ValueId id, Layout layout) {
    const Value& value = graph_.value(id);
    // A single pixel lies the same in both.
    if (value.layout == layout || (value.is_constant() && value.shape[2] * value.shape[3] == 1)) return id;
    auto [it, is_new] = reordered_.try_emplace(id, kNoValue);
    if (is_new)
      it->second = add_reorder(id, layout, value.name + (layout == Layout::kPlain ? ".plain" : ".nhwc"));
    return it->second;
  }

  ValueId add_reorder(ValueId id, Layout layout, std::string name) {
    DType dtype = graph_.value(id).dtype;
    Shape shape = graph_.value(id).shape;
    ValueId made = graph_.add_value(std::move(name), dtype, std::move(shape));
    graph_.value(made).layout = layout;
    graph_.nodes.push_back(
        {.op = "reorder",
         .inputs = {id},
         .outputs = {made},
         .attrs = {{"to", std::string(layout == Layout::kPlain ? "plain" : "channels_last")}}});
    return made;
  }

  ValueId output_in_plain(ValueId id) {
    if (graph_.value(id).layout == Layout::kPlain) return id;
    ValueId made = in_layout(id, Layout::kPlain);
    std::swap(graph_.value(id).name, graph_.value(made).name);
    return made;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> reordered_;
};

}  // namespace

void assign_layouts(Graph& graph, const std::function<LayoutNeed(const Node&)>& need) {
  Assignment(graph).run(need);
}

}  // namespace octet
