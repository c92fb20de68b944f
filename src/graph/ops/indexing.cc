#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/resolve.h"

namespace octet::ops {

namespace {

void require_indices(const ValueInfo& indices) {
  require_dtype(indices, "indices", {DType::kInt32, DType::kInt64});
}

void infer_gather(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &indices = inputs[1]->shape;
  require_indices(*inputs[1]);
  auto axis = static_cast<std::ptrdiff_t>(normalize_axis(attr<std::int64_t>(node, "axis"), x.size()));
  Shape out(x.begin(), x.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  outputs[0] = {inputs[0]->dtype, std::move(out)};
}

void infer_gather_elements(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &indices = inputs[1]->shape;
  require_indices(*inputs[1]);
  require_rank(*inputs[1], "indices", x.size());
  auto axis = static_cast<std::size_t>(normalize_axis(attr<std::int64_t>(node, "axis"), x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i != axis && x[i] != kUnknown && indices[i] > x[i])
      fail("indices of shape {} go beyond x of shape {}", to_string(indices), to_string(x));
  outputs[0] = {inputs[0]->dtype, indices};
}

// The last dimension of indices counts how many of x's dimensions (from `first` on) it names.
std::int64_t index_depth(const Shape& x, const Shape& indices, std::size_t first) {
  if (indices.empty()) fail("indices is a scalar, expected at least one dimension");
  std::int64_t depth = indices.back();
  if (depth != kUnknown && (depth < 1 || depth > static_cast<std::int64_t>(x.size() - first)))
    fail("indices of shape {} name {} dimensions of x, {}", to_string(indices), depth, to_string(x));
  return depth;
}

void infer_gather_nd(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &indices = inputs[1]->shape;
  require_indices(*inputs[1]);
  auto batch = static_cast<std::size_t>(attr<std::int64_t>(node, "batch_dims"));
  if (batch >= x.size() || batch >= indices.size())
    fail("batch_dims is {}, x has shape {} and indices {}", batch, to_string(x), to_string(indices));
  std::int64_t depth = index_depth(x, indices, batch);
  outputs[0].dtype = inputs[0]->dtype;
  if (depth == kUnknown) return;
  Shape out(indices.begin(), indices.end() - 1);
  for (std::size_t i = 0; i < batch; ++i) out[i] = merge_dims(x[i], indices[i], "a batch dimension");
  out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(batch) + depth, x.end());
  outputs[0].shape = std::move(out);
}

void require_updates(const Node& node, Inputs inputs) {
  require_indices(*inputs[1]);
  require_dtype(*inputs[2], "updates", {inputs[0]->dtype});
  if (attr<std::string>(node, "reduction") != "none") require_number(*inputs[0], "x");
}

void infer_scatter_elements(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &indices = inputs[1]->shape;
  require_updates(node, inputs);
  require_rank(*inputs[1], "indices", x.size());
  require_rank(*inputs[2], "updates", x.size());
  auto axis = static_cast<std::size_t>(normalize_axis(attr<std::int64_t>(node, "axis"), x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t dim = merge_dims(indices[i], inputs[2]->shape[i], "a dimension of indices and updates");
    if (i != axis && x[i] != kUnknown && dim > x[i])
      fail("indices of shape {} go beyond x of shape {}", to_string(indices), to_string(x));
  }
  outputs[0] = {inputs[0]->dtype, x};
}

void infer_scatter_nd(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &indices = inputs[1]->shape, &updates = inputs[2]->shape;
  require_updates(node, inputs);
  std::int64_t depth = index_depth(x, indices, 0);
  if (depth != kUnknown) {
    Shape expected(indices.begin(), indices.end() - 1);
    expected.insert(expected.end(), x.begin() + depth, x.end());
    require_rank(*inputs[2], "updates", expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      merge_dims(expected[i], updates[i], "a dimension of updates and what they replace");
  }
  outputs[0] = {inputs[0]->dtype, x};
}

void infer_one_hot(const Node& node, Inputs inputs, Outputs outputs) {
  require_indices(*inputs[0]);
  std::optional<std::int64_t> depth = int_of(*inputs[1], "depth");
  if (depth && *depth < 1) fail("depth is {}, expected at least 1", *depth);
  require_vector(*inputs[2], "values", 2);
  Shape out = inputs[0]->shape;
  out.insert(out.begin() + normalize_axis(attr<std::int64_t>(node, "axis"), out.size() + 1),
             depth.value_or(kUnknown));
  check_made(out);
  outputs[0] = {inputs[2]->dtype, std::move(out)};
}

}  // namespace

std::vector<OpSpec> indexing() {
  const AttrSpec reduction{"reduction", "none", words({"none", "add", "mul", "max", "min"})};
  auto gathers = [](std::string_view name, decltype(OpSpec::infer) infer, AttrSpec attr) {
    return OpSpec{.name = name,
                  .inputs = {"x", "indices"},
                  .attrs = {std::move(attr)},
                  .infer = infer,
                  .kind = OpKind::kDataMovement,
                  .range = ValueRange::kOfInputs,
                  .selects = true,
                  .trainable = false};
  };
  OpSpec scatter{.name = "scatter_elements",
                 .inputs = {"x", "indices", "updates"},
                 .attrs = {axis_attr(0), reduction},
                 .infer = infer_scatter_elements,
                 .kind = OpKind::kDataMovement,
                 .trainable = false};
  OpSpec scatter_nd = scatter;
  scatter_nd.name = "scatter_nd";
  scatter_nd.attrs = {reduction};
  scatter_nd.infer = infer_scatter_nd;
  OpSpec gather = gathers("gather", infer_gather, axis_attr(0));
  gather.learned = {"x"};
  gather.trainable = true;
  return {gather,
          gathers("gather_elements", infer_gather_elements, axis_attr(0)),
          gathers("gather_nd", infer_gather_nd, {"batch_dims", std::int64_t{0}, between(0, kMaxRank)}),
          scatter,
          scatter_nd,
          {.name = "one_hot",
           .inputs = {"indices", "depth", "values"},
           .attrs = {axis_attr(-1)},
           .infer = infer_one_hot,
           .kind = OpKind::kDataMovement,
           .trainable = false}};
}

}  // namespace octet::ops
