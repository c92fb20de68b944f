#include "graph/op_table.h"
#include "graph/quantization.h"
#include "passes/passes.h"
#include "passes/uses.h"

namespace octet {

namespace {

// One scale, that is known, for the whole tensor; to or from int8.
bool is_simple(const Graph& graph, const Node& node, std::string_view op) {
  if (node.op != op) return false;
  const std::optional<Quantization> found = quantization_of(graph, node);
  return found && has_integer_kernels(*found) && found->is_per_tensor();
}

class Tables {
 public:
  Tables(Graph& graph, const Evaluate& evaluate) : graph_(graph), uses_(graph), evaluate_(evaluate) {}

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& function = graph_.nodes[i];
      if (spec_of(function).kind != OpKind::kActivation || function.inputs.size() != 1) continue;
      int producer = uses_.producer(function.inputs[0]);
      if (producer < 0 || !uses_.only_for_one(function.outputs[0])) continue;
      const Node& before = graph_.nodes[static_cast<std::size_t>(producer)];
      Node& after = graph_.nodes[static_cast<std::size_t>(uses_.consumers(function.outputs[0])[0])];
      if (!is_simple(graph_, before, "dequantize") || !is_simple(graph_, after, "quantize")) continue;
      Tensor table;
      if (!make_table(before, function, after, &table)) continue;
      ValueId id = graph_.add_constant(graph_.value(after.outputs[0]).name + ".table", table);
      after = {.op = "qlut", .inputs = {before.inputs[0], id}, .outputs = after.outputs, .attrs = {}};
      function = Node{};
    }
    std::erase_if(graph_.nodes, [](const Node& node) { return node.op.empty(); });
  }

 private:
  // What becomes of each of the 256 integers on its way through the three nodes.
  bool make_table(const Node& before, const Node& function, const Node& after, Tensor* table) {
    Tensor all(DType::kInt8, {256}), real(DType::kFloat32, {256}), mapped(DType::kFloat32, {256});
    for (int i = 0; i < 256; ++i)
      all.mutable_data<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
    *table = Tensor(DType::kInt8, {256});
    return convert(before, all, &real) && evaluate_(function, {&real}, &mapped) &&
           convert(after, mapped, table);
  }

  // Quantizes or dequantizes, as a node does it.
  bool convert(const Node& node, const Tensor& x, Tensor* y) const {
    const ValueId zero_id = input_of(node, "zero_point");
    const Tensor scale = graph_.value(input_of(node, "scale")).constant.aligned();
    const Tensor zero = zero_id == kNoValue ? Tensor() : graph_.value(zero_id).constant.aligned();
    return evaluate_(plain(node), {&x, &scale, zero_id == kNoValue ? nullptr : &zero}, y);
  }

  // Without the axis of a scale that has but one element.
  static Node plain(const Node& node) {
    Node copy = node;
    copy.attrs["axis"] = std::int64_t{-1};
    copy.inputs.resize(3, kNoValue);
    return copy;
  }

  Graph& graph_;
  Uses uses_;
  const Evaluate& evaluate_;
};

}  // namespace

void lower_to_table(Graph& graph, const Evaluate& evaluate) {
  Tables(graph, evaluate).run();
}

}  // namespace octet
