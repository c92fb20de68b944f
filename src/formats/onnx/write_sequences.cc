#include <algorithm>
#include <array>

#include "formats/onnx/writer.h"

// Recurrent networks, sums over named dimensions, resampling.
namespace octet::onnx {

namespace {

// ONNX's LSTM multiplies its input with the weights itself, where octet has a matmul in front of it: that
// one, if it serves nothing else and its weights are constants; null otherwise.
const Node* weights_of_lstm(const Writer& w, const Node& lstm) {
  const ValueId given = lstm.inputs[0];
  const Node* product = w.maker(given);
  if (!product || product->op != "matmul" || attr<bool>(*product, "transpose_x") ||
      attr<bool>(*product, "transpose_y") || attr<double>(*product, "alpha") != 1)
    return nullptr;
  const Value& weights = w.graph().value(product->inputs[1]);
  const ValueId bias = input_of(*product, "bias");
  if (!weights.is_constant() || weights.shape.size() != 2 || weights.dtype != DType::kFloat32) return nullptr;
  if (bias != kNoValue && !w.graph().value(bias).is_constant()) return nullptr;
  return w.readers(given).size() == 1 && !w.is_output(given) ? product : nullptr;
}

struct LstmSizes {
  std::int64_t directions = 1, gates = 4, hidden = 1;
};

// From inputs x directions * gates to directions x gates x inputs.
Tensor lstm_weights(const Tensor& weights, const LstmSizes& sizes) {
  const std::int64_t inputs = weights.dim(0), columns = weights.dim(1);
  const Tensor aligned = weights.aligned();
  Tensor turned(DType::kFloat32, {sizes.directions, sizes.gates, inputs});
  auto from = aligned.data<float>();
  auto to = turned.mutable_data<float>();
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t i = 0; i < inputs; ++i)
      to[static_cast<std::size_t>(c * inputs + i)] = from[static_cast<std::size_t>(i * columns + c)];
  return turned;
}

// ONNX has a bias of the input and one of the recurrence; octet has their sum.
Tensor lstm_bias(const Tensor& bias, const LstmSizes& sizes) {
  const Tensor aligned = bias.aligned();
  Tensor both(DType::kFloat32, {sizes.directions, 2 * sizes.gates});
  for (float& number : both.mutable_data<float>()) number = 0;
  for (std::int64_t d = 0; d < sizes.directions; ++d)
    for (std::int64_t i = 0; i < sizes.gates; ++i)
      both.mutable_data<float>()[static_cast<std::size_t>(d * 2 * sizes.gates + i)] =
          aligned.data<float>()[static_cast<std::size_t>(d * sizes.gates + i)];
  return both;
}

// Weights that hand on what was multiplied before.
Tensor no_weights(const LstmSizes& sizes) {
  const std::int64_t columns = sizes.directions * sizes.gates;
  Tensor ones(DType::kFloat32, {columns, columns});
  for (float& one : ones.mutable_data<float>()) one = 0;
  for (std::int64_t i = 0; i < columns; ++i)
    ones.mutable_data<float>()[static_cast<std::size_t>(i * (columns + 1))] = 1;
  return lstm_weights(ones, sizes);
}

void write_lstm(Writer& w) {
  const Shape& recurrent = w.value(1).shape;
  if (recurrent.size() != 3 || !is_known(recurrent)) fail("its weights have shape {}", to_string(recurrent));
  const LstmSizes sizes{recurrent[0], recurrent[1], recurrent[2]};
  std::string x = w.in(0), weights, bias;
  if (const Node* product = w.absorbed_by(w.node())) {
    x = w.name_of(product->inputs[0]);
    weights = w.constant(lstm_weights(w.graph().value(product->inputs[1]).constant, sizes));
    if (const ValueId id = input_of(*product, "bias"); id != kNoValue)
      bias = w.constant(lstm_bias(w.graph().value(id).constant, sizes));
  } else {
    weights = w.constant(no_weights(sizes));
  }
  std::string lengths = w.in("lengths");
  if (!lengths.empty() && w.value(5).dtype != DType::kInt32)
    lengths = w.emit("Cast", {lengths}, {{"to", static_cast<std::int64_t>(ElementType::kInt32)}});
  w.emit_to("LSTM", {x, weights, w.in(1), bias, lengths, w.in("h0"), w.in("c0"), w.in("peephole")},
            {w.out(0), w.out(1), w.out(2)},
            {{"direction", attr<std::string>(w.node(), "direction")}, {"hidden_size", sizes.hidden}});
}

// Labels as letters; the reader numbers those of an ellipsis from 52 on.
void write_einsum(Writer& w) {
  constexpr std::int64_t kFirstDot = 52;
  std::string equation;
  bool in_dots = false;
  const Ints labels = attr<Ints>(w.node(), "labels");
  std::ptrdiff_t terms = std::ranges::count(labels, -1);
  for (std::int64_t label : labels) {
    if (label < 0) {
      equation += --terms > 0 ? "," : "->";
    } else if (label < kFirstDot) {
      equation += static_cast<char>(label < 26 ? 'a' + label : 'A' + label - 26);
    } else if (!in_dots) {
      equation += "...";
    }
    in_dots = label >= kFirstDot;
  }
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < w.node().inputs.size(); ++i) inputs.push_back(w.in(i));
  w.emit_to("Einsum", inputs, {w.out()}, {{"equation", equation}});
}

void write_resample(Writer& w) {
  auto text = [&](const char* name) { return attr<std::string>(w.node(), name); };
  const std::string mode = text("mode"), where = text("coordinates");
  if (where == "half_pixel_symmetric" && w.opset() < 19) fail("half_pixel_symmetric needs opset 19");
  WrittenAttrs attrs = {{"mode", mode},
                        {"coordinate_transformation_mode", where == "crop" ? "tf_crop_and_resize" : where}};
  if (mode == "nearest") attrs.emplace_back("nearest_mode", text("nearest"));
  if (mode == "cubic") {
    attrs.emplace_back("cubic_coeff_a", attr<double>(w.node(), "cubic_coeff"));
    attrs.emplace_back("exclude_outside", std::int64_t{attr<bool>(w.node(), "exclude_outside")});
  }
  const Ints axes = attr<Ints>(w.node(), "axes");
  const bool antialias = attr<bool>(w.node(), "antialias"), stretched = text("aspect") == "stretch";
  if ((!axes.empty() || antialias || !stretched) && w.opset() < 18)
    fail("Resize with axes, antialias or an aspect ratio needs opset 18");
  if (!axes.empty()) attrs.emplace_back("axes", axes);
  if (antialias) attrs.emplace_back("antialias", std::int64_t{1});
  if (!stretched) attrs.emplace_back("keep_aspect_ratio_policy", text("aspect"));
  auto floats = [&](const std::vector<double>& numbers) {
    return w.constant(Tensor::of<float>({static_cast<std::int64_t>(numbers.size())},
                                        std::vector<float>(numbers.begin(), numbers.end())));
  };
  std::string roi, scales, sizes;
  if (where == "crop") {
    roi = floats(attr<std::vector<double>>(w.node(), "roi"));
    attrs.emplace_back("extrapolation_value", attr<double>(w.node(), "extrapolation"));
  }
  if (w.has("sizes"))
    sizes = w.as_int64(1);
  else if (const Ints given = attr<Ints>(w.node(), "sizes"); !given.empty())
    sizes = w.list(given);
  else
    scales = w.has("scales") ? w.in(2) : floats(attr<std::vector<double>>(w.node(), "scales"));
  w.emit_to("Resize", {w.in(0), roi, scales, sizes}, {w.out()}, attrs);
}

}  // namespace

std::map<const Node*, const Node*> absorbed_nodes(const Writer& w) {
  std::map<const Node*, const Node*> absorbed;
  for (const Node& node : w.graph().nodes)
    if (node.op == "lstm")
      if (const Node* product = weights_of_lstm(w, node)) absorbed.emplace(product, &node);
  return absorbed;
}

std::vector<WriteRow> sequence_writers() {
  return {{"lstm", write_lstm}, {"einsum", write_einsum}, {"resample", write_resample}};
}

}  // namespace octet::onnx
