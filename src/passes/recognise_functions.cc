#include <cmath>

#include "passes/match.h"
#include "passes/passes.h"

namespace octet {

namespace {

struct Recognised {
  std::string op;
  ValueId x = kNoValue;
  Attrs attrs = {};
};
using Maybe = std::optional<Recognised>;

// clamp(inner, 0, limit).
struct Clamped {
  Affine inner;
  double limit = 0;
};

std::optional<Clamped> clamped(const Match& match, ValueId id) {
  if (const Node* node = match.maker(id, "relu6"))
    return Clamped{match.affine(node->inputs[0]), attr<double>(*node, "threshold")};
  const Node* node = match.maker(id, "clip");
  if (!node || node->inputs.size() != 1 || attr<double>(*node, "min") != 0) return std::nullopt;
  return Clamped{match.affine(node->inputs[0]), attr<double>(*node, "max")};
}

// The number itself where the constants of a file, which are floats, are a little off.
double tidy(double number) {
  const double sixth = 1.0 / 6;
  for (double usual : {sixth, 0.5, 1.0, 3.0, 6.0, 0.2})
    if (is_near(number, usual)) return usual;
  return number;
}

// clamp(x + 3, 0, 6) / 6, and clamp(0.2 x + 0.5, 0, 1).
Maybe hard_sigmoid(const Match& match, ValueId id) {
  const Affine outer = match.affine(id);
  const std::optional<Clamped> inside = clamped(match, outer.x);
  if (!inside || outer.shift != 0 || !(inside->limit > 0) || !is_near(outer.factor * inside->limit, 1))
    return std::nullopt;
  if (inside->inner.factor == 1 && inside->inner.shift == 0) return std::nullopt;  // a relu6 by its nature
  return Recognised{"hard_sigmoid",
                    inside->inner.x,
                    {{"slope", tidy(inside->inner.factor * outer.factor)},
                     {"offset", tidy(inside->inner.shift * outer.factor)}}};
}

// The a and x of 1 + exp(a * x), as an Affine without a shift.
std::optional<Affine> one_plus_exp(const Match& match, ValueId id) {
  const Affine sum = match.affine(id);
  const Node* exp = match.maker(sum.x, "exp");
  if (!exp || sum.factor != 1 || sum.shift != 1) return std::nullopt;
  const Affine inner = match.affine(exp->inputs[0]);
  return inner.shift == 0 ? std::optional(inner) : std::nullopt;
}

// 1 / (1 + exp(-x)).
Maybe sigmoid(const Match& match, ValueId id) {
  const Node* node = match.maker(id, "div");
  if (!node || match.number(node->inputs[0]) != 1.0) return std::nullopt;
  const std::optional<Affine> inner = one_plus_exp(match, node->inputs[1]);
  return inner && inner->factor == -1 ? Maybe(Recognised{"sigmoid", inner->x}) : std::nullopt;
}

// The functions of x that are scale * x * term.

// term is a hard_sigmoid, or a clamp that is scaled with the product.
Maybe hard_swish(const Match& match, ValueId x, ValueId term, double scale) {
  if (const Node* node = match.maker(term, "hard_sigmoid")) {
    const double slope = attr<double>(*node, "slope"), offset = attr<double>(*node, "offset");
    if (node->inputs[0] != x || !(slope > 0)) return std::nullopt;
    return Recognised{"hard_swish",
                      x,
                      {{"threshold", tidy(1 / slope)},
                       {"scale", tidy(1 / (slope * scale))},
                       {"offset", tidy(offset / slope)}}};
  }
  const std::optional<Clamped> inside = clamped(match, term);
  if (!inside || inside->inner.x != x || inside->inner.factor != 1 || !(inside->limit > 0) || !(scale > 0))
    return std::nullopt;
  return Recognised{"hard_swish",
                    x,
                    {{"threshold", tidy(inside->limit)},
                     {"scale", tidy(1 / scale)},
                     {"offset", tidy(inside->inner.shift)}}};
}

Maybe swish(const Match& match, ValueId x, ValueId term, double scale) {
  const Node* node = match.maker(term, "sigmoid");
  if (!node || scale != 1) return std::nullopt;
  if (node->inputs[0] == x) return Recognised{"swish", x};
  const Affine inner = match.affine(node->inputs[0]);
  if (inner.x != x || inner.shift != 0) return std::nullopt;
  return Recognised{"swish", x, {{"beta", inner.factor}}};
}

Maybe mish(const Match& match, ValueId x, ValueId term, double scale) {
  const Node* tanh = match.maker(term, "tanh");
  const Node* softplus = tanh ? match.maker(tanh->inputs[0], "softplus") : nullptr;
  if (!softplus || softplus->inputs[0] != x || scale != 1) return std::nullopt;
  return Recognised{"mish", x};
}

// Which power of x a value is, times a number: pow(x, 3), or x * x * x.
struct Power {
  double factor = 1, exponent = 1;
};
std::optional<Power> power_of(const Match& match, ValueId id, ValueId x) {
  const Product product = match.product(id);
  Power all{product.scale, 0};
  for (ValueId term : product.terms) {
    const Node* pow = match.maker(term, "pow");
    const std::optional<double> exponent = pow ? match.number(pow->inputs[1]) : std::nullopt;
    if (term != x && (!exponent || pow->inputs[0] != x)) return std::nullopt;
    all.exponent += term == x ? 1 : *exponent;
  }
  return all;
}

// sqrt(2/pi) * (x + 0.044715 x^3), also as x times the rest.
bool is_gelu_polynomial(const Match& match, ValueId id, ValueId x) {
  constexpr double kCube = 0.044715;
  const double root = std::sqrt(2 / 3.14159265358979);
  const Product product = match.product(id);
  if (!is_near(product.scale, root) || product.terms.empty()) return false;
  if (product.terms.size() == 1) {
    const Node* sum = match.maker(product.terms[0], "add");
    const ValueId cube = sum ? Match::other(*sum, x) : kNoValue;
    const std::optional<Power> power = cube == kNoValue ? std::nullopt : power_of(match, cube, x);
    return power && power->exponent == 3 && is_near(power->factor, kCube);
  }
  if (product.terms.size() != 2) return false;
  const ValueId rest = product.terms[0] == x ? product.terms[1] : product.terms[0];
  if (product.terms[0] != x && product.terms[1] != x) return false;
  const Affine affine = match.affine(rest);
  const std::optional<Power> square = power_of(match, affine.x, x);
  return square && affine.shift == 1 && square->exponent == 2 &&
         is_near(square->factor * affine.factor, kCube);
}

// x / 2 * (1 + erf(x / sqrt(2))), or with tanh.
Maybe gelu(const Match& match, ValueId x, ValueId term, double scale) {
  const Affine outer = match.affine(term);
  if (!is_near(outer.factor, outer.shift) || !is_near(outer.factor * scale, 0.5)) return std::nullopt;
  if (const Node* erf = match.maker(outer.x, "erf")) {
    const Affine inner = match.affine(erf->inputs[0]);
    if (inner.x != x || inner.shift != 0 || !is_near(inner.factor, std::sqrt(0.5))) return std::nullopt;
    return Recognised{"gelu", x};
  }
  const Node* tanh = match.maker(outer.x, "tanh");
  if (!tanh || !is_gelu_polynomial(match, tanh->inputs[0], x)) return std::nullopt;
  return Recognised{"gelu", x, {{"approximate", true}}};
}

// A function of x times x.
Maybe gated(const Match& match, ValueId id) {
  const Product product = match.product(id);
  if (product.terms.size() != 2) return std::nullopt;
  for (std::size_t side : {0, 1}) {
    const ValueId x = product.terms[side], term = product.terms[1 - side];
    for (auto function : {hard_swish, swish, mish, gelu})
      if (Maybe found = function(match, x, term, product.scale)) return found;
  }
  return std::nullopt;
}

// x / (1 + exp(-x)).
Maybe divided_swish(const Match& match, ValueId id) {
  const Node* node = match.maker(id, "div");
  if (!node) return std::nullopt;
  const std::optional<Affine> inner = one_plus_exp(match, node->inputs[1]);
  if (!inner || inner->x != node->inputs[0]) return std::nullopt;
  return Recognised{"swish", inner->x, {{"beta", -inner->factor}}};
}

}  // namespace

void recognise_functions(Graph& graph) {
  bool changed = true;
  // A hard_sigmoid first has to be one before a hard_swish can be made of it.
  for (int round = 0; round < 2 && changed; ++round) {
    changed = false;
    const Match match(graph);
    std::vector<std::pair<std::size_t, Recognised>> found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) continue;
      for (auto function : {gated, sigmoid, divided_swish, hard_sigmoid})
        if (Maybe recognised = function(match, node.outputs[0])) {
          found.emplace_back(i, std::move(*recognised));
          break;
        }
    }
    for (auto& [i, recognised] : found) {
      Node& node = graph.nodes[i];
      if (node.op == recognised.op) continue;
      changed = true;
      become(node, recognised.op, {recognised.x}, std::move(recognised.attrs));
    }
  }
  remove_dead_nodes(graph);
}

}  // namespace octet
