#include "graph/builder.h"

#include <algorithm>

#include "graph/op_table.h"

namespace octet {

std::string Builder::claim(std::string name) {
  if (!names_.insert(name).second) fail("the graph already has a value \"{}\"", name);
  return name;
}

std::string Builder::fresh_name(const std::string& base) {
  for (;;) {
    std::string name = fmt::format("{}_{}", base, counters_[base]++);
    if (names_.insert(name).second) return name;
  }
}

ValueId Builder::input(std::string name, Shape shape, DType dtype) {
  ValueId id = graph_.add_value(claim(std::move(name)), dtype, std::move(shape));
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::constant(std::string name, Tensor tensor) {
  check(!tensor.empty(), "a constant holds a tensor");
  return graph_.add_constant(claim(std::move(name)), std::move(tensor));
}

ValueId Builder::op(const std::string& name, std::vector<ValueId> inputs, Attrs attrs) {
  return op_multi(name, std::move(inputs), std::move(attrs), 1)[0];
}

std::vector<ValueId> Builder::op_multi(const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
                                       std::size_t outputs) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  std::vector<ValueInfo> infos;
  std::vector<const ValueInfo*> pointers;
  infos.reserve(inputs.size());
  for (ValueId id : inputs) {
    if (id == kNoValue) {
      pointers.push_back(nullptr);
      continue;
    }
    check(id >= 0 && static_cast<std::size_t>(id) < graph_.values.size(),
          "a value belongs to the builder that made it");
    const Value& value = graph_.value(id);
    infos.push_back({value.dtype, value.shape, value.is_constant() ? &value.constant : nullptr});
    bool is_input = std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
    if (is_input && !value.shape.empty()) infos.back().shape[0] = kUnknown;  // as infer_shapes() does
    pointers.push_back(&infos.back());
  }
  Node node{.op = name, .inputs = std::move(inputs), .outputs = {}, .attrs = std::move(attrs)};
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph_.add_value(fresh_name(name)));
  std::vector<ValueInfo> results(outputs);
  infer_node(graph_, node, pointers, results);
  for (std::size_t i = 0; i < outputs; ++i) {
    graph_.value(node.outputs[i]).dtype = results[i].dtype;
    graph_.value(node.outputs[i]).shape = results[i].shape;
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

namespace {

Attrs conv_attrs(const ConvOptions& options) {
  return {{"strides", options.strides},
          {"paddings", options.paddings},
          {"dilations", options.dilations},
          {"groups", options.groups},
          {"auto_pad", options.auto_pad}};
}

Attrs pool_attrs(const char* type, const PoolOptions& options) {
  return {{"type", type},
          {"kernel", options.kernel},
          {"strides", options.strides},
          {"paddings", options.paddings},
          {"ceil_mode", options.ceil_mode},
          {"exclusive", options.exclusive}};
}

}  // namespace

ValueId Builder::conv2d(ValueId x, ValueId weight, const ConvOptions& options) {
  return op("conv2d", {x, weight, options.bias}, conv_attrs(options));
}

ValueId Builder::conv2d_transpose(ValueId x, ValueId weight, const ConvOptions& options) {
  return op("conv2d_transpose", {x, weight, options.bias}, conv_attrs(options));
}

ValueId Builder::matmul(ValueId x, ValueId y, const MatmulOptions& options) {
  return op("matmul", {x, y}, {{"transpose_x", options.transpose_x}, {"transpose_y", options.transpose_y}});
}

ValueId Builder::batch_norm(ValueId x, ValueId scale, ValueId bias, ValueId mean, ValueId variance,
                            double epsilon) {
  return op("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", epsilon}});
}

ValueId Builder::layer_norm(ValueId x, ValueId scale, ValueId bias, std::int64_t begin_norm_axis,
                            double epsilon) {
  return op("layer_norm", {x, scale, bias}, {{"begin_norm_axis", begin_norm_axis}, {"epsilon", epsilon}});
}

ValueId Builder::hard_sigmoid(ValueId x, double slope, double offset) {
  return op("hard_sigmoid", {x}, {{"slope", slope}, {"offset", offset}});
}

ValueId Builder::scale(ValueId x, double scale, double bias) {
  return op("scale", {x}, {{"scale", scale}, {"bias", bias}});
}

ValueId Builder::max_pool(ValueId x, const PoolOptions& options) {
  return op("pool2d", {x}, pool_attrs("max", options));
}

ValueId Builder::avg_pool(ValueId x, const PoolOptions& options) {
  return op("pool2d", {x}, pool_attrs("avg", options));
}

ValueId Builder::adaptive_avg_pool(ValueId x, Ints size) {
  return op("pool2d", {x}, {{"type", "avg"}, {"adaptive", true}, {"kernel", std::move(size)}});
}

ValueId Builder::resize(ValueId x, const ResizeOptions& options) {
  return op("resize", {x},
            {{"mode", options.mode},
             {"out_h", options.out_h},
             {"out_w", options.out_w},
             {"scale", options.scale},
             {"align_corners", options.align_corners},
             {"align_mode", options.align_mode}});
}

ValueId Builder::flatten(ValueId x, std::int64_t start_axis, std::int64_t stop_axis) {
  return op("flatten", {x}, {{"start_axis", start_axis}, {"stop_axis", stop_axis}});
}

ValueId Builder::concat(std::vector<ValueId> parts, std::int64_t axis) {
  parts.insert(parts.begin(), kNoValue);  // the slot of an axis that a run computes
  return op("concat", std::move(parts), {{"axis", axis}});
}

std::vector<ValueId> Builder::split(ValueId x, Ints sections, std::int64_t axis) {
  std::size_t outputs = sections.size();
  return op_multi("split", {x}, {{"sections", std::move(sections)}, {"axis", axis}}, outputs);
}

ValueId Builder::slice(ValueId x, Ints axes, Ints starts, Ints ends) {
  return op("slice", {x},
            {{"axes", std::move(axes)}, {"starts", std::move(starts)}, {"ends", std::move(ends)}});
}

ValueId Builder::reduce_mean(ValueId x, Ints axes, bool keepdims) {
  return op("reduce_mean", {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

ValueId Builder::arg_max(ValueId x, std::int64_t axis, DType dtype) {
  return op("arg_max", {x}, {{"axis", axis}, {"dtype", std::string(name_of(dtype))}});
}

void Builder::rename(ValueId id, std::string name) {
  name = claim(std::move(name));
  names_.erase(graph_.value(id).name);
  graph_.value(id).name = std::move(name);
}

Graph Builder::build(std::vector<ValueId> outputs) {
  graph_.outputs = std::move(outputs);
  verify(graph_);
  infer_shapes(graph_);
  Graph graph = std::move(graph_);
  *this = Builder();
  return graph;
}

}  // namespace octet
