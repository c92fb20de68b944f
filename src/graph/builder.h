#pragma once
#include <unordered_set>

#include "graph/graph.h"

namespace octet {

// Attributes of docs/ops.md, with its defaults. Paddings are top, bottom, left, right.
struct ConvOptions {
  std::vector<std::int64_t> strides = {1, 1};
  std::vector<std::int64_t> paddings = {0, 0, 0, 0};
  std::vector<std::int64_t> dilations = {1, 1};
  std::int64_t groups = 1;
  std::string auto_pad = "explicit";
  ValueId bias = kNoValue;
};

struct PoolOptions {
  std::vector<std::int64_t> kernel = {1, 1};
  std::vector<std::int64_t> strides = {1, 1};
  std::vector<std::int64_t> paddings = {0, 0, 0, 0};
  bool ceil_mode = false;
  bool exclusive = true;
};

struct MatmulOptions {
  bool transpose_x = false;
  bool transpose_y = false;
};

struct ResizeOptions {
  std::string mode = "nearest";
  std::int64_t out_h = -1, out_w = -1;
  std::vector<double> scale = {};
  bool align_corners = false;
  std::int64_t align_mode = 1;
};

// Writes graphs down. Every op is checked and its shape inferred as it is added, so a mistake is reported at
// the line that makes it.
//
//   Builder b;
//   ValueId x = b.input("x", {kUnknown, 3, 224, 224});
//   ValueId w = b.constant("conv1.weight", weight);
//   ValueId y = b.relu(b.conv2d(x, w, {.strides = {2, 2}, .paddings = {1, 1, 1, 1}}));
//   Graph graph = b.build({y});
//
// Values that get no name are called after their op: conv2d_0, relu_0, conv2d_1, ...
class Builder {
 public:
  using Ints = std::vector<std::int64_t>;

  ValueId input(std::string name, Shape shape, DType dtype = DType::kFloat32);
  ValueId constant(std::string name, Tensor tensor);

  // Any op of the table; the others are this with names. op_multi is for ops with several outputs.
  ValueId op(const std::string& name, std::vector<ValueId> inputs, Attrs attrs = {});
  std::vector<ValueId> op_multi(const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
                                std::size_t outputs);

  ValueId conv2d(ValueId x, ValueId weight, const ConvOptions& options = {});
  ValueId conv2d_transpose(ValueId x, ValueId weight, const ConvOptions& options = {});
  ValueId matmul(ValueId x, ValueId y, const MatmulOptions& options = {});
  ValueId batch_norm(ValueId x, ValueId scale, ValueId bias, ValueId mean, ValueId variance,
                     double epsilon = 1e-5);
  ValueId layer_norm(ValueId x, ValueId scale, ValueId bias, std::int64_t begin_norm_axis,
                     double epsilon = 1e-5);
  ValueId softmax(ValueId x, std::int64_t axis = -1) { return op("softmax", {x}, {{"axis", axis}}); }

  ValueId relu(ValueId x) { return op("relu", {x}); }
  ValueId relu6(ValueId x) { return op("relu6", {x}); }
  ValueId sigmoid(ValueId x) { return op("sigmoid", {x}); }
  ValueId tanh(ValueId x) { return op("tanh", {x}); }
  ValueId hard_swish(ValueId x) { return op("hard_swish", {x}); }
  ValueId hard_sigmoid(ValueId x, double slope = 0.2, double offset = 0.5);
  ValueId swish(ValueId x) { return op("swish", {x}); }
  ValueId dropout(ValueId x, double p) { return op("dropout", {x}, {{"p", p}}); }

  ValueId add(ValueId x, ValueId y, std::int64_t axis = -1) { return op("add", {x, y}, {{"axis", axis}}); }
  ValueId sub(ValueId x, ValueId y, std::int64_t axis = -1) { return op("sub", {x, y}, {{"axis", axis}}); }
  ValueId mul(ValueId x, ValueId y, std::int64_t axis = -1) { return op("mul", {x, y}, {{"axis", axis}}); }
  ValueId div(ValueId x, ValueId y, std::int64_t axis = -1) { return op("div", {x, y}, {{"axis", axis}}); }
  ValueId scale(ValueId x, double scale, double bias = 0.0);
  ValueId cast(ValueId x, DType dtype) { return op("cast", {x}, {{"dtype", std::string(name_of(dtype))}}); }

  ValueId max_pool(ValueId x, const PoolOptions& options);
  ValueId avg_pool(ValueId x, const PoolOptions& options);
  ValueId adaptive_avg_pool(ValueId x, Ints size);
  ValueId global_avg_pool(ValueId x) { return op("pool2d", {x}, {{"type", "avg"}, {"global", true}}); }
  ValueId resize(ValueId x, const ResizeOptions& options);

  ValueId reshape(ValueId x, Ints shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
  ValueId flatten(ValueId x, std::int64_t start_axis = 1, std::int64_t stop_axis = -1);
  ValueId squeeze(ValueId x, Ints axes) { return op("squeeze", {x}, {{"axes", std::move(axes)}}); }
  ValueId unsqueeze(ValueId x, Ints axes) { return op("unsqueeze", {x}, {{"axes", std::move(axes)}}); }
  ValueId transpose(ValueId x, Ints perm) { return op("transpose", {x}, {{"perm", std::move(perm)}}); }
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis);
  std::vector<ValueId> split(ValueId x, Ints sections, std::int64_t axis);
  ValueId slice(ValueId x, Ints axes, Ints starts, Ints ends);
  ValueId reduce_mean(ValueId x, Ints axes, bool keepdims = false);
  ValueId arg_max(ValueId x, std::int64_t axis = -1, DType dtype = DType::kInt64);

  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  void rename(ValueId id, std::string name);  // outputs are known to users by their names

  // The graph, verified and with all shapes; the builder is empty afterwards.
  Graph build(std::vector<ValueId> outputs);

 private:
  std::string claim(std::string name);              // fails when it is taken
  std::string fresh_name(const std::string& base);  // base_0, base_1, ...

  Graph graph_;
  std::unordered_set<std::string> names_;
  std::map<std::string, int> counters_;
};

}  // namespace octet
