#include <algorithm>
#include <map>

#include "graph/op_table.h"
#include "graph/quantization.h"
#include "passes/passes.h"
#include "passes/uses.h"

namespace octet {

namespace {

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  void run() {
    split_integer_products();
    make_signed();
  }

 private:
  const Node& at(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // A sum of integers that is only wanted as a float is a product of dequantized tensors of step 1. Integer
  // kernels, which round the whole sum once, compute it; so it must be one that they take.
  void split_integer_products() {
    Uses uses(graph_);
    std::vector<Node> nodes;
    std::vector<bool> drop(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& cast = graph_.nodes[i];
      const int index = cast.op == "cast" && attr<std::string>(cast, "dtype") == "float32"
                            ? uses.producer(cast.inputs[0])
                            : -1;
      if (index < 0 || !uses.only_for_one(cast.inputs[0]) || !is_integer_product(at(index))) {
        nodes.push_back(cast);
        continue;
      }
      const Node& sum = at(index);
      drop[static_cast<std::size_t>(index)] = true;
      auto dequantized = [&](std::string_view slot, std::string_view zero, std::int64_t axis) {
        Node made{.op = "dequantize",
                  .inputs = {input_of(sum, slot), one(), input_of(sum, zero)},
                  .outputs = {derived(input_of(sum, slot), "dequantized")},
                  .attrs = {{"unit", "step"}}};
        if (made.inputs[2] != kNoValue && graph_.value(made.inputs[2]).is_constant() &&
            graph_.value(made.inputs[2]).constant.size() > 1) {
          const std::int64_t count = graph_.value(made.inputs[2]).constant.size();
          made.inputs[1] = graph_.add_constant(
              fmt::format("ones#{}", graph_.values.size()),
              Tensor::of<float>({count}, std::vector<float>(static_cast<std::size_t>(count), 1)));
          made.attrs["axis"] = axis;
        }
        nodes.push_back(made);
        return made.outputs[0];
      };
      const bool is_conv = sum.op == "conv2d_integer";
      const ValueId x = dequantized("x", "x_zero", -1),
                    w = dequantized("weight", "weight_zero", is_conv ? 0 : 1);
      nodes.push_back({.op = is_conv ? "conv2d" : "matmul",
                       .inputs = {x, w},
                       .outputs = cast.outputs,
                       .attrs = sum.attrs});
    }
    std::erase_if(nodes, [&](const Node& node) {
      return (node.op == "conv2d_integer" || node.op == "matmul_integer") &&
             drop[static_cast<std::size_t>(uses.producer(node.outputs[0]))];
    });
    graph_.nodes = std::move(nodes);
  }

  // conv2d_integer or matmul_integer with constant weights that the integer kernels take.
  bool is_integer_product(const Node& node) const {
    if (node.op != "conv2d_integer" && node.op != "matmul_integer") return false;
    const ValueId zero = input_of(node, "weight_zero");
    const Value& weight = graph_.value(input_of(node, "weight"));
    if (!weight.is_constant() || (zero != kNoValue && !graph_.value(zero).is_constant())) return false;
    const bool is_conv = node.op == "conv2d_integer";
    if (!is_conv && weight.shape.size() != 2) return false;
    const std::int64_t count = element_count(weight.shape), channels = weight.shape[is_conv ? 0 : 1];
    if (count / std::max<std::int64_t>(channels, 1) > max_products(true, true)) return false;
    Quantization how{.axis = is_conv ? 0 : 1};
    if (zero != kNoValue) {
      const Tensor zeros = graph_.value(zero).constant.aligned().cast(DType::kInt32);
      how.zero_points.assign(zeros.data<std::int32_t>().begin(), zeros.data<std::int32_t>().end());
    }
    return less_zero_points(weight.constant.aligned().cast(DType::kInt32), how).has_value();
  }

  ValueId one() {
    if (one_ == kNoValue)
      one_ = graph_.add_constant(fmt::format("one#{}", graph_.values.size()), Tensor::of<float>({}, {1.0f}));
    return one_;
  }

  // uint8 that only dequantize nodes read become int8, less 128, with zero points that are less 128, too.
  void make_signed() {
    Uses uses(graph_);
    std::vector<bool> changes(graph_.values.size());
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const Value& value = graph_.values[i];
      if (value.dtype != DType::kUInt8 || uses.is_output(id) || uses.consumers(id).empty()) continue;
      const int producer = uses.producer(id);
      changes[i] = value.is_constant() || (producer >= 0 && can_shift(at(producer), "quantize"));
      for (int consumer : uses.consumers(id))
        changes[i] = changes[i] && can_shift(at(consumer), "dequantize") && at(consumer).inputs[0] == id;
    }
    std::vector<Node> nodes;
    for (Node& node : graph_.nodes) {
      const ValueId integers = node.op == "quantize"     ? node.outputs[0]
                               : node.op == "dequantize" ? node.inputs[0]
                                                         : kNoValue;
      if (integers == kNoValue || !changes[static_cast<std::size_t>(integers)]) {
        nodes.push_back(std::move(node));
        continue;
      }
      const ValueId zero = input_of(node, "zero_point");
      set_input(node, "zero_point",
                zero != kNoValue ? less_128(zero, nodes) : lowest(input_of(node, "scale")));
      if (node.op == "quantize") {
        node.attrs["dtype"] = "int8";
        graph_.value(integers).dtype = DType::kInt8;
      } else if (graph_.value(integers).is_constant()) {
        node.inputs[0] = less_128(integers, nodes);
      }
      node.source = -1;
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

  bool can_shift(const Node& node, std::string_view op) const {
    if (node.op != op || attr<std::string>(node, "unit") != "step") return false;
    const ValueId zero = input_of(node, "zero_point");
    if (zero == kNoValue) return graph_.value(input_of(node, "scale")).is_constant();
    return graph_.value(zero).dtype == DType::kUInt8;
  }

  // -128, as often as there are scales: what an absent zero point of uint8 becomes.
  ValueId lowest(ValueId scale) {
    Tensor zeros(DType::kInt8, graph_.value(scale).shape);
    std::ranges::fill(zeros.mutable_data<std::int8_t>(), std::int8_t{-128});
    return graph_.add_constant(fmt::format("{}.zero#{}", graph_.value(scale).name, graph_.values.size()),
                               std::move(zeros));
  }

  // uint8 as int8 that are less by 128; one for all that read them. What a run makes it makes there.
  ValueId less_128(ValueId id, std::vector<Node>& nodes) {
    auto [it, is_new] = signed_.emplace(id, kNoValue);
    if (!is_new) return it->second;
    if (!graph_.value(id).is_constant()) {
      const Shape shape = graph_.value(id).shape;
      auto add = [&](const char* op, std::vector<ValueId> inputs, Attrs attrs, DType dtype) {
        const ValueId made = graph_.add_value(
            fmt::format("{}.less_128#{}", graph_.value(id).name, graph_.values.size()), dtype, Shape(shape));
        nodes.push_back(
            {.op = op, .inputs = std::move(inputs), .outputs = {made}, .attrs = std::move(attrs)});
        return made;
      };
      const ValueId offset = graph_.add_constant(fmt::format("128#{}", graph_.values.size()),
                                                 Tensor::of<std::int32_t>({}, {128}));
      const ValueId wide = add("cast", {id}, {{"dtype", "int32"}}, DType::kInt32);
      const ValueId less = add("sub", {wide, offset}, {}, DType::kInt32);
      return it->second = add("cast", {less}, {{"dtype", "int8"}}, DType::kInt8);
    }
    const Tensor from = graph_.value(id).constant.aligned();
    Tensor to(DType::kInt8, from.shape());
    std::ranges::transform(from.data<std::uint8_t>(), to.mutable_data<std::int8_t>().begin(),
                           [](int integer) { return static_cast<std::int8_t>(integer - 128); });
    return it->second = graph_.add_constant(graph_.value(id).name + ".int8", std::move(to));
  }

  ValueId derived(ValueId id, const char* suffix) {
    const Value& value = graph_.value(id);
    return graph_.add_value(fmt::format("{}.{}#{}", value.name, suffix, graph_.values.size()),
                            DType::kFloat32, Shape(value.shape));
  }

  Graph& graph_;
  std::map<ValueId, ValueId> signed_;  // what less_128 has made
  ValueId one_ = kNoValue;
};

}  // namespace

void to_int8(Graph& graph) {
  Rewriter(graph).run();
}

}  // namespace octet
