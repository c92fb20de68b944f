#include "quant/insertion_points.h"

#include <algorithm>

#include "base/error.h"
#include "base/glob.h"
#include "formats/format.h"
#include "graph/activation.h"
#include "graph/op_table.h"
#include "passes/uses.h"

namespace octet::quant {

namespace {

class Finder {
 public:
  Finder(const Graph& graph, const InsertionPointOptions& options)
      : graph_(graph), options_(options), uses_(graph) {
    for (const Node& node : graph_.nodes)
      if (std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return is_fixed(id); }))
        fixed_.insert(node.outputs.begin(), node.outputs.end());
  }

  InsertionPoints run() {
    check_types();
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
      if (!find_op(node.op) || is_kept(node)) continue;
      if (is_product(node) && wanted(node))
        add_layer(i);
      else if (!is_product(node) && (wanted(node) || (options_.everything && spec_of(node).quantizable)))
        add_inputs(i);
    }
    has_optionals_ = options_.deploy == Deploy::kOctet;
    if (has_optionals_)
      for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
        if (!is_kept(graph_.nodes[static_cast<std::size_t>(i)])) add_optionals(i);
    drop_lonely_optionals();
    check_names("keep_float", options_.keep_float);
    check_names("skip_tensor_list", options_.skip_tensors);
    return std::move(points_);
  }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  void check_types() const {
    for (const std::string& type : options_.op_types)
      if (!is_op_type(type) && !find_op(type) && type != "interp")
        fail(
            "quantizable_op_type {}: octet knows no such op; the usual ones are conv2d, depthwise_conv2d, "
            "conv2d_transpose, mul, matmul, matmul_v2",
            type);
  }

  bool wanted(const Node& node) const {
    std::string type = op_type(graph_, node);
    return std::any_of(options_.op_types.begin(), options_.op_types.end(), [&](const std::string& name) {
      return name == type || (name == "matmul" && type == "matmul_v2") || name == own_name(node);
    });
  }

  // octet's name of an op, where it means nothing else in the files that users know; "" elsewhere.
  static std::string_view own_name(const Node& node) {
    return is_op_type(node.op) ? std::string_view() : std::string_view(node.op);
  }

  bool is_kept(const Node& node) {
    for (ValueId id : node.inputs)
      for (const std::string& name : options_.skip_tensors)
        if (id != kNoValue && graph_.value(id).name == name) return note(name);
    for (const std::string& glob : options_.keep_float) {
      if (matches(glob, op_type(graph_, node))) return note(glob);
      if (!own_name(node).empty() && matches(glob, own_name(node))) return note(glob);
      for (ValueId id : node.outputs)
        if (id != kNoValue && matches(glob, graph_.value(id).name)) return note(glob);
      if (ValueId id = biased(node); id != kNoValue && matches(glob, graph_.value(id).name))
        return note(glob);
      for (ValueId id : node.inputs)
        if (id != kNoValue && graph_.value(id).is_constant() && matches(glob, graph_.value(id).name))
          return note(glob);
    }
    return false;
  }

  // What a layer's output is called when its bias has been added.
  ValueId biased(const Node& layer) const {
    if (!is_product(layer) || !uses_.only_for_one(layer.outputs[0])) return kNoValue;
    const Node& next = node(uses_.consumers(layer.outputs[0])[0]);
    return next.op == "add" && one_is_constant(next) ? next.outputs[0] : kNoValue;
  }

  bool note(const std::string& name) {
    matched_.insert(name);
    return true;
  }

  void check_names(const char* option, const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (matched_.contains(name)) continue;
      std::vector<std::string> examples;
      for (const Layer& layer : points_.layers)
        if (examples.size() < 3) examples.push_back(graph_.value(node_of(graph_, layer).outputs[0]).name);
      fail("{} {}: nothing in the model has this name; its layers are called {}, ...", option, name,
           fmt::join(examples, ", "));
    }
  }

  // A constant, or made of constants alone, as a reshaped bias is.
  bool is_fixed(ValueId id) const {
    return id == kNoValue || graph_.value(id).is_constant() || fixed_.contains(id);
  }
  bool is_float_activation(ValueId id) const {
    return id != kNoValue && !graph_.value(id).is_constant() && graph_.value(id).dtype == DType::kFloat32;
  }

  void add_layer(int i) {
    const Node& layer = node(i);
    ValueId weight = weights_of(layer);
    if (!is_float_activation(layer.inputs[0])) return;
    if (!graph_.value(weight).is_constant()) {        // a product of two activations
      if (options_.deploy == Deploy::kOctet) return;  // which has no integer kernel
      if (layer.op != "matmul" || !is_float_activation(weight)) return;
      points_.layers.push_back({i, -1, false});
      points_.inputs.insert({i, 0});
      points_.inputs.insert({i, 1});
      return;
    }
    const Value& value = graph_.value(weight);
    const std::size_t rank = spec_of(layer).kind == OpKind::kConvolution ? 4 : 2;
    if (value.dtype != DType::kFloat32 || value.shape.size() != rank) return;
    const std::int64_t axis = weight_channel_axis(graph_, layer);
    if (axis < 0 || gains_nothing(layer)) return;
    // A weight that two layers share has one set of scales.
    auto [it, fresh] = axes_.emplace(weight, axis);
    if (it->second != axis) return;
    points_.layers.push_back({i, axis, true});
    points_.inputs.insert({i, 0});
    integer_nodes_.insert(i);
  }

  // A depthwise convolution has so little work that a pass over its input, to make integers of it, costs more
  // than they save; and it is the kind of layer that they harm most. A transposed one that makes a single
  // channel, as at the end of a text detector, is all reading and writing, which the float kernel does
  // better.
  bool gains_nothing(const Node& layer) const {
    if (options_.deploy != Deploy::kOctet || spec_of(layer).kind != OpKind::kConvolution) return false;
    const bool one_channel = graph_.value(weights_of(layer)).shape[1] == 1;
    if (layer.op == "conv2d_transpose") return one_channel && attr<std::int64_t>(layer, "groups") == 1;
    return one_channel && attr<std::int64_t>(layer, "groups") > 1 &&
           !comes_as_integers(layer.inputs[0], true);
  }

  // Whether an integer op, or the epilogue of one, makes this tensor; an epilogue ends in an activation.
  bool comes_as_integers(ValueId id, bool may_be_activated) const {
    const int i = uses_.producer(id);
    if (i < 0) return false;
    const Node& maker = node(i);
    if (is_product(maker)) return !has_optionals_ || integer_nodes_.contains(i);
    if (find_activation(maker.op)) return may_be_activated && comes_as_integers(maker.inputs[0], false);
    if (maker.op == "batch_norm") return comes_as_integers(maker.inputs[0], false);
    if ((maker.op == "add" || maker.op == "mul") && one_is_constant(maker))
      return comes_as_integers(is_fixed(maker.inputs[0]) ? maker.inputs[1] : maker.inputs[0], false);
    if (has_optionals_ && spec_of(maker).kind == OpKind::kElementwise)
      return points_.inputs.contains({i, 0}) || points_.inputs.contains({i, 1});
    return !spec_of(maker).integer_op.empty();
  }

  void add_inputs(int i) {
    for (std::size_t slot = 0; slot < node(i).inputs.size(); ++slot)
      if (is_float_activation(node(i).inputs[slot])) points_.inputs.insert({i, static_cast<int>(slot)});
  }

  // The layer that makes this tensor, if only constants were added or multiplied since, and nobody else
  // looks: it lives in the layer's epilogue and never gets to memory. -1: none.
  int layer_behind(ValueId id) const {
    if (!uses_.only_for_one(id)) return -1;
    int i = uses_.producer(id);
    if (i < 0) return -1;
    const Node& maker = node(i);
    if (is_product(maker)) return i;
    bool passes_on =
        maker.op == "batch_norm" || ((maker.op == "add" || maker.op == "mul") && one_is_constant(maker));
    if (!passes_on) return -1;
    return layer_behind(is_fixed(maker.inputs[0]) ? maker.inputs[1] : maker.inputs[0]);
  }

  bool one_is_constant(const Node& pair) const {
    return is_fixed(pair.inputs[0]) || is_fixed(pair.inputs[1]);
  }

  void add_optional(int i, int slot) {
    InsertionPoint point{i, slot};
    if (points_.inputs.insert(point).second) points_.optional.insert(point);
  }

  void add_optionals(int i) {
    const Node& n = node(i);
    const OpSpec& spec = spec_of(n);
    if (spec.integer_op.empty() || is_product(n)) return;
    if (spec.kind != OpKind::kElementwise) return between(i, spec);
    if (n.inputs.size() >= 2 && is_float_activation(n.inputs[0]) && is_float_activation(n.inputs[1]) &&
        !one_is_constant(n) && n.inputs[0] != n.inputs[1]) {
      // Of floats in memory the op reads itself what a pass that makes integers of them would read.
      if (!comes_as_integers(n.inputs[0], true) || !comes_as_integers(n.inputs[1], true)) return;
      // What a layer makes is added in its epilogue, in float. Of two such the later one takes it.
      int first = n.op == "add" ? layer_behind(n.inputs[0]) : -1;
      int second = n.op == "add" ? layer_behind(n.inputs[1]) : -1;
      if (first < 0 || first < second) add_optional(i, 0);
      if (second < 0 || second < first) add_optional(i, 1);
    }
  }

  // An op that hands integers on, if all who read its result take integers.
  void between(int i, const OpSpec& spec) {
    const Node& n = node(i);
    if (spec.kind == OpKind::kPool && attr<std::string>(n, "type") == "avg" &&
        (attr<bool>(n, "global") || attr<bool>(n, "adaptive")))
      return;  // a mean is smaller: it needs a scale of its own
    const auto first = static_cast<std::size_t>(slot_of(spec, "x"));
    const std::size_t last = is_variadic(spec.inputs[first]) ? n.inputs.size() : first + 1;
    ValueId made = n.outputs[0];
    if (uses_.is_output(made) || uses_.consumers(made).empty()) return;
    std::vector<ValueId> group = {made};
    for (std::size_t slot = first; slot < last; ++slot) {
      if (!is_float_activation(n.inputs[slot])) return;
      group.push_back(n.inputs[slot]);
    }
    for (std::size_t slot = first; slot < last; ++slot) add_optional(i, static_cast<int>(slot));
    points_.same_threshold.push_back(std::move(group));
    handed_on_.push_back(i);
  }

  bool reads_integers(int consumer, ValueId id) const {
    const Node& n = node(consumer);
    for (std::size_t slot = 0; slot < n.inputs.size(); ++slot)
      if (n.inputs[slot] == id && !points_.inputs.contains({consumer, static_cast<int>(slot)})) return false;
    return true;
  }

  // An op that hands integers on to someone who wants floats gains nothing.
  void drop_lonely_optionals() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t h = 0; h < handed_on_.size(); ++h) {
        const Node& n = node(handed_on_[h]);
        const std::vector<int>& readers = uses_.consumers(n.outputs[0]);
        if (std::all_of(readers.begin(), readers.end(),
                        [&](int r) { return reads_integers(r, n.outputs[0]); }))
          continue;
        for (std::size_t slot = 0; slot < n.inputs.size(); ++slot) {
          InsertionPoint point{handed_on_[h], static_cast<int>(slot)};
          if (points_.optional.erase(point)) points_.inputs.erase(point);
        }
        points_.same_threshold.erase(points_.same_threshold.begin() + static_cast<std::ptrdiff_t>(h));
        handed_on_.erase(handed_on_.begin() + static_cast<std::ptrdiff_t>(h));
        changed = true;
        break;
      }
    }
  }

  const Graph& graph_;
  const InsertionPointOptions& options_;
  Uses uses_;
  std::set<ValueId> fixed_;
  InsertionPoints points_;
  std::set<int> integer_nodes_;  // those of points_.layers
  bool has_optionals_ = false;   // those of the nodes before the one that is looked at
  std::map<ValueId, std::int64_t> axes_;
  std::set<std::string> matched_;  // of keep_float and skip_tensors
  std::vector<int> handed_on_;     // the nodes of points_.same_threshold
};

}  // namespace

std::set<ValueId> InsertionPoints::tensors(const Graph& graph) const {
  std::set<ValueId> result;
  for (const InsertionPoint& point : inputs) result.insert(tensor_of(graph, point));
  return result;
}

InsertionPoints find_insertion_points(const Graph& graph, const InsertionPointOptions& options) {
  return Finder(graph, options).run();
}

}  // namespace octet::quant
