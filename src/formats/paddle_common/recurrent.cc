#include "formats/paddle_common/recurrent.h"

#include "base/error.h"
#include "formats/paddle_common/op_map.h"

namespace octet::paddle {

namespace {

using Ints = std::vector<std::int64_t>;

class LayerBuilder {
 public:
  LayerBuilder(const RnnReader& reader, std::int64_t hidden) : reader_(reader), hidden_(hidden) {}

  std::vector<Node> nodes;

  ValueId add(std::string op, std::vector<ValueId> inputs, Attrs attrs, std::size_t rank) {
    const ValueId out = reader_.inner(Shape(rank, kUnknown));
    nodes.push_back(
        {.op = std::move(op), .inputs = std::move(inputs), .outputs = {out}, .attrs = std::move(attrs)});
    return out;
  }

  ValueId part(ValueId x, std::int64_t begin, std::int64_t end, std::size_t rank) {
    return add("slice", {x}, {{"axes", Ints{0}}, {"starts", Ints{begin}}, {"ends", Ints{end}}}, rank);
  }

  ValueId join(std::vector<ValueId> parts, std::size_t rank) {
    if (parts.size() == 1) return parts.front();
    parts.insert(parts.begin(), kNoValue);  // the axis is an attribute
    return add("concat", std::move(parts), {{"axis", std::int64_t{0}}}, rank);
  }

  // Paddle's gates are i, f, c, o; those of the lstm node i, o, f, c.
  ValueId reordered(ValueId gates, std::size_t rank) {
    return join({part(gates, 0, hidden_, rank), part(gates, 3 * hidden_, 4 * hidden_, rank),
                 part(gates, hidden_, 3 * hidden_, rank)},
                rank);
  }

 private:
  const RnnReader& reader_;
  const std::int64_t hidden_;
};

}  // namespace

std::vector<Node> read_rnn(const OpDesc& op, const RnnReader& reader) {
  if (const std::string_view mode = string_attr(op, "mode", "RNN_TANH"); mode != "LSTM")
    fail("its mode is {}, octet runs LSTM", mode);
  const std::int64_t layers = int_attr(op, "num_layers", 1), hidden = int_attr(op, "hidden_size", 0),
                     directions = int_attr(op, "is_bidirec", 0) != 0 ? 2 : 1;
  if (layers < 1 || layers > 64 || hidden < 1 || hidden > (1 << 20))
    fail("it has {} layers of {} numbers", layers, hidden);
  const auto cells = static_cast<std::size_t>(layers * directions);
  const auto &weight_names = op.input("WeightList"), &state_names = op.input("PreState"),
             &last_names = op.output("State");
  if (op.input("Input").size() != 1 || op.output("Out").size() != 1) fail("it has no input or no output");
  if (weight_names.size() != 4 * cells)
    fail("it has {} weights and biases, expected {}", weight_names.size(), 4 * cells);
  if (state_names.size() != 2) fail("it has {} initial states, expected 2", state_names.size());
  if (last_names.size() != 0 && last_names.size() != 2)
    fail("it has {} last states, expected 2", last_names.size());
  if (op.input("SequenceLength").size() > 1) fail("it has several lists of lengths");

  std::vector<ValueId> weights, states;
  for (std::size_t i = 0; i < weight_names.size(); ++i) {
    weights.push_back(reader.use(weight_names[i]));
    const Shape& shape = reader.graph.value(weights.back()).shape;
    if (shape.size() != (i < 2 * cells ? 2 : 1) || shape[0] != 4 * hidden)
      fail("a weight has shape {}, expected {} rows", to_string(shape), 4 * hidden);
  }
  for (const std::string_view name : state_names) states.push_back(reader.use(name));
  ValueId x = reader.use(op.input("Input").front());
  const ValueId lengths =
      op.input("SequenceLength").empty() ? kNoValue : reader.use(op.input("SequenceLength").front());

  LayerBuilder build(reader, hidden);
  std::vector<ValueId> last_h, last_c;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<ValueId> inputs, biases, recurrent;
    for (std::int64_t d = 0; d < directions; ++d) {
      const auto cell = static_cast<std::size_t>(2 * (layer * directions + d));
      inputs.push_back(build.reordered(weights[cell], 2));
      recurrent.push_back(
          build.add("unsqueeze", {build.reordered(weights[cell + 1], 2)}, {{"axes", Ints{0}}}, 3));
      const ValueId both =
          build.add("add", {weights[2 * cells + cell], weights[2 * cells + cell + 1]}, {}, 1);
      biases.push_back(build.reordered(both, 1));
    }
    const ValueId matrix = build.add("transpose", {build.join(inputs, 2)}, {{"perm", Ints{1, 0}}}, 2);
    const ValueId gates =
        build.add("add", {build.add("matmul", {x, matrix}, {}, 3), build.join(biases, 1)}, {}, 3);
    std::vector<ValueId> arguments = {gates, build.join(recurrent, 3)};
    for (const ValueId state : states)
      arguments.push_back(layers == 1 ? state
                                      : build.part(state, layer * directions, (layer + 1) * directions, 3));
    if (lengths != kNoValue) arguments.insert(arguments.end(), {kNoValue, lengths});
    const ValueId y = reader.inner(Shape(4, kUnknown));
    last_h.push_back(reader.inner(Shape(3, kUnknown)));
    last_c.push_back(reader.inner(Shape(3, kUnknown)));
    build.nodes.push_back({.op = "lstm",
                           .inputs = std::move(arguments),
                           .outputs = {y, last_h.back(), last_c.back()},
                           .attrs = {{"direction", directions == 2 ? "bidirectional" : "forward"}}});
    // (T, directions, N, H) to (T, N, directions * H)
    const ValueId swapped = build.add("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}, 4);
    const Attrs flat = {{"shape", Ints{0, 0, directions * hidden}}};
    if (layer + 1 < layers) {
      x = build.add("reshape", {swapped}, flat, 3);
    } else {
      build.nodes.push_back({.op = "reshape",
                             .inputs = {swapped},
                             .outputs = {reader.define(op.output("Out").front())},
                             .attrs = flat});
    }
  }
  for (std::size_t i = 0; i < last_names.size(); ++i) {
    if (last_names[i].empty()) continue;
    std::vector<ValueId> parts = i == 0 ? last_h : last_c;
    parts.insert(parts.begin(), kNoValue);
    build.nodes.push_back({.op = "concat",
                           .inputs = std::move(parts),
                           .outputs = {reader.define(last_names[i])},
                           .attrs = {{"axis", std::int64_t{0}}}});
  }
  return std::move(build.nodes);
}

}  // namespace octet::paddle
