#include <algorithm>

#include "formats/onnx/rows.h"

// Recurrent networks and sums over named dimensions.
namespace octet::onnx {

namespace {

ValueId part(Reader& r, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return r.emit("slice", {x}, {{"axes", Ints{axis}}, {"starts", Ints{begin}}, {"ends", Ints{end}}});
}

// octet's lstm is given x times its weights plus both biases, all directions side by side.
void read_lstm(Reader& r, const ReadRow&) {
  const std::string direction = r.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    fail("direction is {}", direction);
  if (const AttributeProto* functions = r.find("activations")) {
    const std::vector<std::string_view> usual = {"Sigmoid", "Tanh", "Tanh"};
    for (std::size_t i = 0; i < functions->strings.size(); ++i)
      if (functions->strings[i] != usual[i % 3]) fail("its activations are not Sigmoid, Tanh, Tanh");
  }
  if (r.find("clip")) fail("it clips its cells");
  if (r.integer("input_forget", 0) != 0) fail("input_forget is 1");
  const bool batch_first = r.integer("layout", 0) != 0;
  ValueId x = r.in(0);
  if (batch_first) x = r.emit("transpose", {x}, {{"perm", Ints{1, 0, 2}}});
  const Shape weights = r.shape(r.in(1));  // directions, 4 * hidden, inputs
  if (weights.size() != 3 || weights[0] == kUnknown || weights[1] == kUnknown || weights[2] == kUnknown)
    fail("its weights have shape {}", to_string(weights));
  const std::int64_t gates = weights[1], directions = weights[0];
  ValueId flat = r.emit("reshape", {r.in(1)}, {{"shape", Ints{directions * gates, weights[2]}}});
  ValueId given = r.emit("matmul", {x, r.emit("transpose", {flat}, {{"perm", Ints{1, 0}}})});
  if (r.has(3)) {
    ValueId both = r.emit("add", {part(r, r.in(3), 1, 0, gates), part(r, r.in(3), 1, gates, 2 * gates)});
    given = r.emit("add", {given, r.emit("reshape", {both}, {{"shape", Ints{directions * gates}}})});
  }
  auto state = [&](std::size_t i) {
    if (!r.has(i)) return kNoValue;
    return batch_first ? r.emit("transpose", {r.in(i)}, {{"perm", Ints{1, 0, 2}}}) : r.in(i);
  };
  std::vector<ValueId> inputs = {given, r.in(2), state(5), state(6), r.maybe(7), r.maybe(4)};
  while (inputs.back() == kNoValue) inputs.pop_back();
  std::vector<ValueId> made = r.emit_multi("lstm", inputs, {{"direction", direction}}, 3);
  if (batch_first) {
    made[0] = r.emit("transpose", {made[0]}, {{"perm", Ints{2, 0, 1, 3}}});
    for (std::size_t i : {1, 2}) made[i] = r.emit("transpose", {made[i]}, {{"perm", Ints{1, 0, 2}}});
  }
  for (std::size_t i = 0; i < 3; ++i) r.result(made[i], i);
}

// "ij,jk->ik" as a number a letter; "..." stands for the dimensions that no letter names.
void read_einsum(Reader& r, const ReadRow&) {
  std::string equation = r.text("equation", "");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char c : left) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != r.input_count())
    fail("equation {} has {} terms for {} inputs", equation, terms.size(), r.input_count());
  std::size_t dots = 0;  // the most dimensions that an ellipsis stands for
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t at = terms[i].find("...");
    if (at == std::string::npos) continue;
    const std::size_t letters = terms[i].size() - 3;
    if (letters > r.rank(r.in(i))) fail("equation {} does not fit the inputs", equation);
    dots = std::max(dots, r.rank(r.in(i)) - letters);
  }
  auto label = [&](char c) -> std::int64_t {
    if (c >= 'a' && c <= 'z') return c - 'a';
    if (c >= 'A' && c <= 'Z') return c - 'A' + 26;
    fail("equation {} has a {} in it", equation, c);
  };
  constexpr std::int64_t kFirstDot = 52;
  Ints labels;
  auto append = [&](const std::string& term, std::size_t rank_of_dots) {
    for (std::size_t k = 0; k < term.size(); ++k) {
      if (term[k] != '.') {
        labels.push_back(label(term[k]));
        continue;
      }
      for (std::size_t d = dots - rank_of_dots; d < dots; ++d)
        labels.push_back(kFirstDot + static_cast<std::int64_t>(d));
      k += 2;
    }
  };
  std::string all;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find("...") != std::string::npos;
    append(terms[i], has_dots ? r.rank(r.in(i)) - (terms[i].size() - 3) : 0);
    labels.push_back(-1);
    all += terms[i];
  }
  std::string right;
  if (arrow != std::string::npos) {
    right = equation.substr(arrow + 2);
  } else {  // the letters that occur once, in their order
    std::erase(all, '.');
    std::sort(all.begin(), all.end());
    for (char c : all)
      if (std::count(all.begin(), all.end(), c) == 1) right += c;
    if (dots > 0) right = "..." + right;
  }
  append(right, right.find("...") != std::string::npos ? dots : 0);
  r.result(r.emit("einsum", r.inputs(), {{"labels", labels}}));
}

}  // namespace

std::vector<ReadRow> sequence_rows() {
  return {
      {"LSTM", 1, "lstm", read_lstm, "with the usual activations"},
      {"Einsum", 12, "einsum", read_einsum},
  };
}

}  // namespace octet::onnx
