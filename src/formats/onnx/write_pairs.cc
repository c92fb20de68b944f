#include <algorithm>
#include <cmath>

#include "formats/onnx/writer.h"
#include "graph/activation.h"
#include "graph/quantization.h"

// ONNX Runtime computes a convolution with integers only where its result is quantized next. octet keeps it a
// float up to the end of the epilogue, so files for it get a pair of QuantizeLinear and DequantizeLinear in
// between. Its range follows from the next quantization: what lies beyond it would become the same integer
// anyway.
namespace octet::onnx {

namespace {

constexpr int kMaxDepth = 16;
// How many steps of the next quantization one step of the pair may be: more would lose too much.
constexpr double kCoarsest = 4;

// What a reader can tell apart: nothing beyond low and high, nothing finer than step.
struct Wanted {
  double low, high, step;
};

std::optional<Wanted> wanted_of(const Writer& w, ValueId id, int depth);

// `least` is what the integers must represent at least; octet's own are symmetric.
std::optional<Wanted> range_of(const Quantization& how, double least) {
  if (!how.is_per_tensor() || !(how.step() > 0) || how.bits > 8) return std::nullopt;
  const double step = how.step(), low = (how.qmin() - how.zero_point()) * step,
               high = (how.qmax() - how.zero_point()) * step;
  if (can_be_shifted(how) && gained_range(how, least) > -1) {
    const double share = gained_range(how, least);
    return Wanted{share * high, high, step * 127.0 / 255.0 * (1 - share)};
  }
  return Wanted{low, high, step};
}

// The x beyond which f(x), bounded by what its readers want, stays as it is.
Wanted before(const ActivationFunction& function, const ActivationArgs& args, const Wanted& after) {
  constexpr int kPoints = 1 << 14;
  const double reach = 16 + 16 * std::max(std::abs(after.low), std::abs(after.high));
  auto point = [&](int i) { return reach * (2.0 * i / kPoints - 1); };
  auto value = [&](int i) {
    const double y = static_cast<double>(function.value(static_cast<float>(point(i)), args));
    return std::clamp(y, after.low, after.high);
  };
  auto same = [&](int i, int end) { return std::abs(value(i) - value(end)) <= after.step / 4; };
  int low = 0, high = kPoints;
  while (low < high && same(low + 1, 0)) ++low;
  while (high > low && same(high - 1, kPoints)) --high;
  return {point(low), point(high), after.step};
}

// All that a function with an upper and a lower bound gives.
std::optional<Wanted> all_of(const ActivationFunction& function, const ActivationArgs& args) {
  constexpr float kFar = 1e4f;
  constexpr double kBound = 100;
  const auto low = static_cast<double>(function.value(-kFar, args)),
             high = static_cast<double>(function.value(kFar, args));
  if (!(high > low) || high > kBound || low < -kBound) return std::nullopt;
  return Wanted{low, high, (high - low) / 255};
}

std::optional<Wanted> wanted_by(const Writer& w, const Node& reader, ValueId id, int depth) {
  if (reader.op == "quantize") {
    const std::optional<Quantization> how = quantization_of(w.graph(), reader);
    return how ? range_of(*how, w.least(reader.outputs[0])) : std::nullopt;
  }
  if (reader.outputs.empty() || reader.outputs[0] == kNoValue) return std::nullopt;
  if (const ActivationFunction* function = find_activation(reader.op)) {
    const ActivationArgs args = activation_args(*function, reader);
    std::optional<Wanted> after = wanted_of(w, reader.outputs[0], depth + 1);
    if (!after) after = all_of(*function, args);
    return after ? std::optional(before(*function, args, *after)) : std::nullopt;
  }
  if (reader.op == "add" && reader.inputs[0] != reader.inputs[1]) {
    const Node* other = w.maker(reader.inputs[0] == id ? reader.inputs[1] : reader.inputs[0]);
    if (!other || other->op != "dequantize") return std::nullopt;
    const std::optional<Quantization> how = quantization_of(w.graph(), *other);
    const std::optional<Wanted> sum = wanted_of(w, reader.outputs[0], depth + 1),
                                added = how ? range_of(*how, w.least(other->inputs[0])) : std::nullopt;
    if (!sum || !added) return std::nullopt;
    return Wanted{sum->low - added->high, sum->high - added->low, sum->step};
  }
  if (keeps_values(reader) && reader.outputs.size() == 1) return wanted_of(w, reader.outputs[0], depth + 1);
  return std::nullopt;
}

// What all readers together want who quantize; others read what these do.
std::optional<Wanted> wanted_of(const Writer& w, ValueId id, int depth) {
  std::optional<Wanted> all;
  if (depth > kMaxDepth) return all;
  for (const Node* reader : w.readers(id)) {
    const std::optional<Wanted> one = wanted_by(w, *reader, id, depth);
    if (!one) continue;
    if (!all) all = one;
    all =
        Wanted{std::min(all->low, one->low), std::max(all->high, one->high), std::min(all->step, one->step)};
  }
  return all;
}

bool is_quantized_next(const Writer& w, ValueId id) {
  const std::span<const Node* const> readers = w.readers(id);
  return !w.is_output(id) && readers.size() == 1 && readers[0]->op == "quantize";
}

// Whether ONNX Runtime takes what follows into the convolution: a quantization, or a ReLU and one that does
// what it does.
bool is_fused(const Writer& w, ValueId id) {
  if (is_quantized_next(w, id)) return true;
  const std::span<const Node* const> readers = w.readers(id);
  if (w.is_output(id) || readers.size() != 1 || readers[0]->op != "relu") return false;
  if (!is_quantized_next(w, readers[0]->outputs[0])) return false;
  const Node& quantize = *w.readers(readers[0]->outputs[0])[0];
  const std::optional<Quantization> how = quantization_of(w.graph(), quantize);
  if (!how) return false;
  return can_be_shifted(*how) ? w.least(quantize.outputs[0]) >= 0 : how->zero_point() == how->qmin();
}

}  // namespace

void emit_convolution(Writer& w, const std::string& type, std::vector<std::string> inputs,
                      const WrittenAttrs& attrs) {
  const ValueId y = w.node().outputs[0];
  const bool integers =
      !w.integers(w.node().inputs[0]).scale.empty() && !w.integers(weights_of(w.node())).scale.empty();
  const std::optional<Wanted> wanted =
      integers && w.target() == Target::kCpu && !is_fused(w, y) ? wanted_of(w, y, 0) : std::nullopt;
  if (!wanted) return w.emit_to(type, std::move(inputs), {w.out()}, attrs);
  const double low = std::min(wanted->low, 0.0), high = std::max(wanted->high, 0.0);
  const auto step = static_cast<float>((high - low) / 255);
  if (!(step > 0) || static_cast<double>(step) > kCoarsest * wanted->step)
    return w.emit_to(type, std::move(inputs), {w.out()}, attrs);
  const std::string made = w.emit(type, std::move(inputs), attrs);
  const auto zero = static_cast<std::uint8_t>(std::nearbyint(-low / static_cast<double>(step)));
  const std::string scale = w.constant(Tensor::of<float>({}, {step})),
                    zero_point = w.constant(Tensor::of<std::uint8_t>({}, {zero}));
  const std::string integer = w.emit("QuantizeLinear", {made, scale, zero_point});
  w.emit_to("DequantizeLinear", {integer, scale, zero_point}, {w.out()});
}

}  // namespace octet::onnx
