#include "train/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "graph/activation.h"
#include "graph/ops/geometry.h"
#include "graph/ops/infer.h"
#include "graph/ops/resolve.h"
#include "train/convert.h"
#include "train/convolution.h"
#include "train/infos.h"
#include "train/window_ops.h"

namespace octet::train {

namespace {

using Ints = std::vector<std::int64_t>;

void no_epilogue(const Call& call) {
  if (!attr<std::string>(call.node, "activation").empty() || call.optional(3) || call.optional(4))
    fail("{}: an optimised graph can't be trained; load it from its file", call.node.op);
}

at::Tensor with_bias(const at::Tensor& y, const Call& call, std::int64_t dim) {
  const at::Tensor* bias = call.optional(2);
  if (!bias) return y;
  Ints shape(static_cast<std::size_t>(y.dim()), 1);
  shape[static_cast<std::size_t>(dim < 0 ? dim + y.dim() : dim)] = -1;
  return y + bias->view(shape);
}

std::optional<at::Tensor> bias_of(const Call& call) {
  const at::Tensor* bias = call.optional(2);
  return bias ? std::optional(*bias) : std::nullopt;
}

at::Tensor conv2d(const Call& call) {
  no_epilogue(call);
  const at::Tensor& weight = call.inputs[1];
  at::Tensor x = call.x();
  const ConvGeometry geometry = conv_geometry(call.node, x, weight);
  return convolution(x, weight, bias_of(call), geometry);
}

at::Tensor conv2d_transpose(const Call& call) {
  no_epilogue(call);
  const at::Tensor &x = call.x(), &weight = call.inputs[1];
  const ops::Window window =
      ops::conv_transpose_window(call.node, x.size(2), x.size(3), weight.size(2), weight.size(3));
  // Without padding, then cut to the size that the window says: paddings may differ, and an output may be
  // larger.
  const auto extra = [](const ops::WindowAxis& axis) {
    const std::int64_t full = (axis.in - 1) * axis.stride + axis.dilation * (axis.kernel - 1) + 1;
    return std::max<std::int64_t>(axis.before + axis.out - full, 0);
  };
  at::Tensor y =
      at::conv_transpose2d(x, weight, bias_of(call), {window.y.stride, window.x.stride}, {0, 0}, {0, 0},
                           attr<std::int64_t>(call.node, "groups"), {window.y.dilation, window.x.dilation});
  const std::int64_t more_h = extra(window.y), more_w = extra(window.x);
  if (more_h > 0 || more_w > 0) {
    y = at::constant_pad_nd(y, {0, more_w, 0, more_h});
    if (const at::Tensor* bias = call.optional(2)) {  // what nothing adds to still has the bias
      at::Tensor border = at::ones_like(y).detach();
      border.slice(2, 0, y.size(2) - more_h).slice(3, 0, y.size(3) - more_w).zero_();
      y = y + border * bias->view({1, -1, 1, 1});
    }
  }
  return y.slice(2, window.y.before, window.y.before + window.y.out)
      .slice(3, window.x.before, window.x.before + window.x.out);
}

at::Tensor matmul(const Call& call) {
  no_epilogue(call);
  at::Tensor x = call.x(), y = call.inputs[1];
  if (attr<bool>(call.node, "transpose_x") && x.dim() > 1) x = x.transpose(-1, -2);
  if (attr<bool>(call.node, "transpose_y") && y.dim() > 1) y = y.transpose(-1, -2);
  const auto alpha = attr<double>(call.node, "alpha");
  at::Tensor z;
  if (alpha == 1.0 && x.dim() == 2 && y.dim() == 2 && call.optional(2))
    return at::addmm(call.inputs[2], x, y);
  z = at::matmul(x, y);
  return with_bias(alpha == 1.0 ? z : z * alpha, call, -1);
}

at::Tensor matmul_flat(const Call& call) {
  no_epilogue(call);
  const at::Tensor &x = call.x(), &y = call.inputs[1];
  const auto x_dims = attr<std::int64_t>(call.node, "x_num_col_dims");
  const auto y_dims = attr<std::int64_t>(call.node, "y_num_col_dims");
  const auto flat = [](const at::Tensor& t, std::int64_t dims) {
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < dims; ++i) rows *= t.size(i);
    return t.reshape({rows, -1});
  };
  Ints shape(x.sizes().begin(), x.sizes().begin() + x_dims);
  shape.insert(shape.end(), y.sizes().begin() + y_dims, y.sizes().end());
  return with_bias(at::mm(flat(x, x_dims), flat(y, y_dims)).reshape(shape), call, -1);
}

at::Tensor layer_norm(const Call& call) {
  const at::Tensor& x = call.x();
  auto begin = attr<std::int64_t>(call.node, "begin_norm_axis");
  if (begin < 0) begin += x.dim();
  const at::IntArrayRef shape = x.sizes().slice(static_cast<std::size_t>(begin));
  const auto parameter = [&](std::size_t i) -> std::optional<at::Tensor> {
    const at::Tensor* t = call.optional(i);
    return t ? std::optional(t->view(shape)) : std::nullopt;
  };
  if (call.node.outputs.size() > 1) fail("layer_norm: only inference gives the statistics of its rows");
  if (attr<bool>(call.node, "centered"))
    return at::layer_norm(x, shape, parameter(1), parameter(2), attr<double>(call.node, "epsilon"));
  Ints dims;
  for (std::int64_t i = begin; i < x.dim(); ++i) dims.push_back(i);
  at::Tensor y = x * at::rsqrt(at::mean(x * x, dims, true) + attr<double>(call.node, "epsilon"));
  if (const auto scale = parameter(1)) y = y * *scale;
  if (const auto bias = parameter(2)) y = y + *bias;
  return y;
}

at::Tensor group_norm(const Call& call) {
  const auto parameter = [&](std::size_t i) {
    const at::Tensor* t = call.optional(i);
    return t ? std::optional(*t) : std::nullopt;
  };
  const auto groups = attr<std::int64_t>(call.node, "groups");
  return at::group_norm(call.x(), groups == 0 ? call.x().size(1) : groups, parameter(1), parameter(2),
                        attr<double>(call.node, "epsilon"));
}

at::Tensor log_softmax(const Call& call) {
  return at::log_softmax(call.x(), attr<std::int64_t>(call.node, "axis"));
}

at::Tensor softmax(const Call& call) {
  return at::softmax(call.x(), attr<std::int64_t>(call.node, "axis"));
}

at::Tensor relu6(const Call& call) {
  return at::hardtanh(call.x(), 0, attr<double>(call.node, "threshold"));
}

at::Tensor hard_sigmoid(const Call& call) {
  const auto slope = attr<double>(call.node, "slope"), offset = attr<double>(call.node, "offset");
  if (std::abs(slope - 1.0 / 6) < 1e-6 && offset == 0.5) return at::hardsigmoid(call.x());
  return at::hardtanh(call.x() * slope + offset, 0, 1);
}

at::Tensor hard_swish(const Call& call) {
  const auto threshold = attr<double>(call.node, "threshold"), scale = attr<double>(call.node, "scale"),
             offset = attr<double>(call.node, "offset");
  if (threshold == 6 && scale == 6 && offset == 3) return at::hardswish(call.x());
  return call.x() * at::hardtanh(call.x() + offset, 0, threshold) * (1 / scale);
}

at::Tensor swish(const Call& call) {
  const auto beta = attr<double>(call.node, "beta");
  return beta == 1.0 ? at::silu(call.x()) : call.x() * at::sigmoid(call.x() * beta);
}

at::Tensor gelu(const Call& call) {
  return at::gelu(call.x(), attr<bool>(call.node, "approximate") ? "tanh" : "none");
}

at::Tensor leaky_relu(const Call& call) {
  return at::leaky_relu(call.x(), attr<double>(call.node, "alpha"));
}

at::Tensor elu(const Call& call) {
  return at::elu(call.x(), attr<double>(call.node, "alpha"));
}

at::Tensor softplus(const at::Tensor& x) {
  return at::softplus(x);
}

at::Tensor clip(const Call& call) {
  const auto bound = [&](std::size_t i, const char* name) {
    const at::Tensor* input = call.optional(i);
    return input ? input->item<double>() : attr<double>(call.node, name);
  };
  return at::clamp(call.x(), bound(1, "min"), bound(2, "max"));
}

at::Tensor dropout(const Call& call) {
  const at::Tensor& x = call.x();
  const auto p = attr<double>(call.node, "p");
  const bool upscale = attr<std::string>(call.node, "mode") == "upscale_in_train";
  if (!call.training) return upscale ? x : x * (1 - p);
  if (p == 0) return x;
  const Step& step = call.step;
  const auto node = static_cast<std::uint64_t>(call.node.outputs[0]);
  const float kept = upscale ? static_cast<float>(1 / std::max(1 - p, 1e-12)) : 1.0f;
  const std::int64_t samples = x.size(0), each = x.numel() / std::max<std::int64_t>(samples, 1);
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  float* out = mask.data_ptr<float>();
  at::parallel_for(0, samples, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto sample = static_cast<std::uint64_t>(i * step.world + step.rank);
      Random random({step.seed, static_cast<std::uint64_t>(step.number), node, sample});
      for (std::int64_t j = 0; j < each; ++j) out[i * each + j] = random.uniform() < p ? 0 : kept;
    }
  });
  return x * mask.to(x.options());
}

// The operands of an elementwise op, brought to shapes that broadcast as numpy's do.
std::pair<at::Tensor, at::Tensor> operands(const Call& call) {
  const at::Tensor &x = call.x(), &y = call.inputs[1];
  const auto axis = attr<std::int64_t>(call.node, "axis");
  if (axis == -1) return {x, y};
  const ops::Broadcast shapes = ops::broadcast(x.sizes().vec(), y.sizes().vec(), axis);
  return {x.reshape(shapes.x), y.reshape(shapes.y)};
}

template <at::Tensor (*Function)(const at::Tensor&, const at::Tensor&)>
at::Tensor binary(const Call& call) {
  auto [x, y] = operands(call);
  return Function(x, y);
}
at::Tensor add(const at::Tensor& x, const at::Tensor& y) {
  return at::add(x, y);
}
at::Tensor prelu(const at::Tensor& x, const at::Tensor& slope) {
  return at::where(x > 0, x, x * slope);
}
at::Tensor sub(const at::Tensor& x, const at::Tensor& y) {
  return at::sub(x, y);
}
at::Tensor mul(const at::Tensor& x, const at::Tensor& y) {
  return at::mul(x, y);
}
at::Tensor div(const at::Tensor& x, const at::Tensor& y) {
  return x.is_floating_point() ? at::div(x, y) : at::div(x, y, "trunc");
}
at::Tensor pow(const at::Tensor& x, const at::Tensor& y) {
  return at::pow(x, y);
}

at::Tensor scale(const Call& call) {
  const at::Tensor* input = call.optional(1);
  const auto factor = input ? input->item<double>() : attr<double>(call.node, "scale");
  const auto bias = attr<double>(call.node, "bias");
  if (!call.x().is_floating_point()) {
    const auto whole = [](double v) { return static_cast<std::int64_t>(v); };
    return attr<bool>(call.node, "bias_after_scale") ? call.x() * whole(factor) + whole(bias)
                                                     : (call.x() + whole(bias)) * whole(factor);
  }
  if (attr<bool>(call.node, "bias_after_scale"))
    return bias == 0 ? call.x() * factor : call.x() * factor + bias;
  return (call.x() + bias) * factor;
}

at::Tensor cast(const Call& call) {
  DType dtype{};
  if (!parse_dtype(attr<std::string>(call.node, "dtype"), &dtype)) fail("cast: unknown dtype");
  const at::ScalarType type = scalar_type(dtype);
  // A number that is none of the integers: libtorch leaves to the CPU what becomes of it.
  const bool may_not_fit = call.x().is_floating_point() && at::isIntegralType(type, /*includeBool=*/false);
  return may_not_fit ? to_torch(from_torch(call.x()).cast(dtype)).to(call.x().device()) : call.x().to(type);
}

at::Tensor identity(const Call& call) {
  return call.x();
}

at::Tensor reshape(const Call& call) {
  return call.x().reshape(Infos(call).output_shape(call.node));
}

at::Tensor transpose(const Call& call) {
  Ints perm;
  for (std::size_t dim : ops::permutation(call.node, static_cast<std::size_t>(call.x().dim())))
    perm.push_back(static_cast<std::int64_t>(dim));
  return call.x().permute(perm);
}

std::int64_t axis_of(const Call& call, std::size_t input, std::int64_t rank) {
  const at::Tensor* tensor = call.optional(input);
  const auto axis = tensor ? tensor->item<std::int64_t>() : attr<std::int64_t>(call.node, "axis");
  return axis < 0 ? axis + rank : axis;
}

at::Tensor concat(const Call& call) {
  const std::vector<at::Tensor> parts(call.inputs.begin() + 1, call.inputs.end());
  return at::cat(parts, axis_of(call, 0, parts.at(0).dim()));
}

std::vector<at::Tensor> split(const Call& call) {
  const std::int64_t axis = axis_of(call, 1, call.x().dim());
  const std::int64_t size = call.x().size(axis), parts = static_cast<std::int64_t>(call.node.outputs.size());
  Ints sections = attr<Ints>(call.node, "sections");
  if (const at::Tensor* given = call.optional(2)) {
    sections = to_int64s(from_torch(*given));
  } else if (sections.empty()) {
    sections.assign(static_cast<std::size_t>(parts), (size + parts - 1) / parts);
    sections.back() = -1;
  }
  std::int64_t known = 0;
  for (std::int64_t section : sections) known += std::max<std::int64_t>(section, 0);
  for (std::int64_t& section : sections)
    if (section < 0) section = size - known;
  return at::split_with_sizes(call.x(), sections, axis);
}

at::Tensor slice(const Call& call) {
  at::Tensor y = call.x();
  const Infos infos(call);
  std::int64_t dim = 0;
  for (const ops::SliceDim& part : ops::slice_dims(call.node, infos.get())) {
    if (part.step > 0) {
      const std::int64_t end = part.begin + std::max<std::int64_t>(0, (part.size - 1) * part.step + 1);
      y = y.slice(dim, part.begin, end, part.step);
    } else {  // libtorch has no negative steps
      y = y.index_select(dim, at::arange(part.size, y.options().dtype(at::kLong)) * part.step + part.begin);
    }
    if (part.dropped) {
      y = y.squeeze(dim);
    } else {
      ++dim;
    }
  }
  return y;
}

at::Tensor gather(const Call& call) {
  const at::Tensor& x = call.x();
  const std::int64_t axis =
      ops::normalize_axis(attr<std::int64_t>(call.node, "axis"), static_cast<std::size_t>(x.dim()));
  at::Tensor indices = call.inputs[1].to(at::kLong);
  indices = at::where(indices < 0, indices + x.size(axis), indices);
  Ints shape = x.sizes().slice(0, static_cast<std::size_t>(axis)).vec();
  shape.insert(shape.end(), indices.sizes().begin(), indices.sizes().end());
  shape.insert(shape.end(), x.sizes().begin() + axis + 1, x.sizes().end());
  return x.index_select(axis, indices.reshape({-1})).reshape(shape);
}

at::Tensor shape(const Call& call) {
  const bool wide = attr<std::string>(call.node, "dtype") == "int64";
  return at::tensor(call.x().sizes(), wide ? at::kLong : at::kInt);
}

at::Tensor full(const Call& call) {
  DType dtype{};
  if (!parse_dtype(attr<std::string>(call.node, "dtype"), &dtype)) fail("full: unknown dtype");
  const at::Tensor* value = call.optional(1);
  return at::full(Infos(call).output_shape(call.node),
                  value ? value->item<double>() : attr<double>(call.node, "value"), scalar_type(dtype));
}

template <at::Tensor (*Function)(const at::Tensor&, const Ints&, bool)>
at::Tensor reduction(const Call& call) {
  Ints dims;
  const at::Tensor* input = call.optional(1);
  const Tensor axes = input ? from_torch(*input) : Tensor();
  const std::vector<bool> reduced =
      ops::reduced_dims(call.node, static_cast<std::size_t>(call.x().dim()), input ? &axes : nullptr);
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) dims.push_back(static_cast<std::int64_t>(i));
  return Function(call.x(), dims, attr<bool>(call.node, "keepdims"));
}
at::Tensor mean_over(const at::Tensor& x, const Ints& dims, bool keep) {
  return at::mean(x, dims, keep);
}
at::Tensor sum_over(const at::Tensor& x, const Ints& dims, bool keep) {
  return at::sum(x, dims, keep, x.scalar_type());
}
at::Tensor max_over(const at::Tensor& x, const Ints& dims, bool keep) {
  return at::amax(x, dims, keep);
}
at::Tensor min_over(const at::Tensor& x, const Ints& dims, bool keep) {
  return at::amin(x, dims, keep);
}

at::Tensor arg_max(const Call& call) {
  DType dtype{};
  if (!parse_dtype(attr<std::string>(call.node, "dtype"), &dtype)) fail("arg_max: unknown dtype");
  const bool flat = attr<bool>(call.node, "flatten") || call.x().dim() == 0;
  const at::Tensor x = flat ? call.x().reshape({-1}) : call.x();
  const std::int64_t axis = flat ? 0 : axis_of(call, 1, x.dim());
  const at::Tensor y =
      attr<bool>(call.node, "last") ? x.size(axis) - 1 - at::argmax(x.flip(axis), axis) : at::argmax(x, axis);
  return y.reshape(Infos(call).output_shape(call.node)).to(scalar_type(dtype));
}

// function(x[i], args) for each number.
at::Tensor map(const at::Tensor& x, float (*function)(float, const ActivationArgs&),
               const ActivationArgs& args) {
  const at::Tensor from = x.to(at::kCPU, at::kFloat).contiguous();
  at::Tensor to = at::empty_like(from);
  const float* in = from.const_data_ptr<float>();
  float* out = to.data_ptr<float>();
  at::parallel_for(0, from.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = function(in[i], args);
  });
  return to.to(x.options());
}

struct TableActivation : torch::autograd::Function<TableActivation> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const Node* node) {
    const ActivationFunction& function = *find_activation(node->op);
    const ActivationArgs args = activation_args(function, *node);
    context->save_for_backward({map(x, function.gradient, args)});
    return map(x, function.value, args);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0], {}};
  }
};

template <at::Tensor (*Function)(const Call&)>
std::vector<at::Tensor> one(const Call& call) {
  return {Function(call)};
}
template <at::Tensor (*Function)(const at::Tensor&)>
std::vector<at::Tensor> unary(const Call& call) {
  return {Function(call.x())};
}

struct Row {
  std::string_view op;
  Operation operation;
};

constexpr Row kOperations[] = {
    {"conv2d", one<conv2d>},
    {"conv2d_transpose", one<conv2d_transpose>},
    {"matmul", one<matmul>},
    {"matmul_flat", one<matmul_flat>},
    {"layer_norm", one<layer_norm>},
    {"group_norm", one<group_norm>},
    {"log_softmax", one<log_softmax>},
    {"softmax", one<softmax>},
    {"relu", unary<at::relu>},
    {"sigmoid", unary<at::sigmoid>},
    {"tanh", unary<at::tanh>},
    {"exp", unary<at::exp>},
    {"sqrt", unary<at::sqrt>},
    {"abs", unary<at::abs>},
    {"relu6", one<relu6>},
    {"leaky_relu", one<leaky_relu>},
    {"hard_sigmoid", one<hard_sigmoid>},
    {"hard_swish", one<hard_swish>},
    {"swish", one<swish>},
    {"gelu", one<gelu>},
    {"elu", one<elu>},
    {"softplus", unary<softplus>},
    {"mish", unary<at::mish>},
    {"erf", unary<at::erf>},
    {"log", unary<at::log>},
    {"clip", one<clip>},
    {"dropout", one<dropout>},
    {"add", one<binary<add>>},
    {"sub", one<binary<sub>>},
    {"mul", one<binary<mul>>},
    {"div", one<binary<div>>},
    {"max", one<binary<at::maximum>>},
    {"min", one<binary<at::minimum>>},
    {"pow", one<binary<pow>>},
    {"prelu", one<binary<prelu>>},
    {"scale", one<scale>},
    {"cast", one<cast>},
    {"identity", one<identity>},
    {"observe", one<identity>},
    {"pool2d", one<pool2d>},
    {"resize", one<resize>},
    {"pad", one<pad>},
    {"reshape", one<reshape>},
    {"flatten", one<reshape>},
    {"squeeze", one<reshape>},
    {"unsqueeze", one<reshape>},
    {"transpose", one<transpose>},
    {"concat", one<concat>},
    {"split", split},
    {"slice", one<slice>},
    {"gather", one<gather>},
    {"shape", one<shape>},
    {"full", one<full>},
    {"reduce_mean", one<reduction<mean_over>>},
    {"reduce_sum", one<reduction<sum_over>>},
    {"reduce_max", one<reduction<max_over>>},
    {"reduce_min", one<reduction<min_over>>},
    {"arg_max", one<arg_max>},
};

}  // namespace

std::vector<at::Tensor> table_activation(const Call& call) {
  return {TableActivation::apply(call.x(), &call.node)};
}

Operation find_operation(std::string_view op) {
  const auto* row = std::ranges::find(kOperations, op, &Row::op);
  if (row != std::end(kOperations)) return row->operation;
  return find_activation(op) ? table_activation : nullptr;
}

std::vector<std::string_view> operations() {
  std::vector<std::string_view> names;
  for (const Row& row : kOperations) names.push_back(row.op);
  return names;
}

}  // namespace octet::train
