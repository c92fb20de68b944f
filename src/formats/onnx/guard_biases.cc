#include <cmath>

#include "formats/onnx/writer.h"
#include "graph/quantization.h"

// An int32 bias counts in units of the sums: the step of x times that of the channel's weights. Where all
// weights of a channel are tiny, its bias has no room in int32; ONNX Runtime, which makes such an integer of
// a float bias, too, lets it wrap. So such a channel gets a larger step. The weights that it then loses are
// less than 2^-30 of the bias each.
namespace octet::onnx {

namespace {

class Guard {
 public:
  explicit Guard(const Writer& w) : w_(w), graph_(w.graph()) {}

  std::vector<std::pair<ValueId, Tensor>> run() {
    for (const Node& node : graph_.nodes)
      if (is_product(node)) look_at(node);
    return std::move(changed_);
  }

 private:
  // Whose steps and integers are constants that nobody else reads.
  const Node* own_weights(const Node& layer) const {
    const ValueId id = weights_of(layer);
    const Node* node = id == kNoValue ? nullptr : w_.maker(id);
    if (!node || node->op != "dequantize" || w_.readers(id).size() != 1) return nullptr;
    for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId constant = node->inputs[i];
      if (!graph_.value(constant).is_constant() || w_.readers(constant).size() != 1) return nullptr;
    }
    return graph_.value(node->inputs[0]).dtype == DType::kInt8 ? node : nullptr;
  }

  void look_at(const Node& layer) {
    const ValueId bias = input_of(layer, "bias");
    const Node* x = layer.inputs[0] == kNoValue ? nullptr : w_.maker(layer.inputs[0]);
    const Node* weights = own_weights(layer);
    if (bias == kNoValue || !graph_.value(bias).is_constant() || !x || x->op != "dequantize" || !weights)
      return;
    const Node* quantize = w_.maker(x->inputs[0]);
    const std::optional<Quantization> of_x = quantization_of(graph_, quantize ? *quantize : *x),
                                      how = quantization_of(graph_, *weights);
    if (!of_x || !of_x->is_per_tensor() || !how || graph_.value(bias).dtype != DType::kFloat32) return;
    for (int zero : how->zero_points)
      if (zero != 0) return;
    const double step = of_x->step() * (quantize ? step_ratio(w_, *quantize, *of_x) : 1);
    const Tensor biases = graph_.value(bias).constant.aligned();
    const auto data = biases.data<float>();
    if (!(step > 0) || biases.rank() != 1 || how->steps.size() != data.size()) return;

    std::vector<double> factors;  // of the channels' steps
    bool any = false;
    for (std::size_t c = 0; c < data.size(); ++c) {
      const double least = std::abs(static_cast<double>(data[c])) / (step * kLargestBias * 0.99);
      factors.push_back(std::isfinite(least) && least > how->step(c) ? least / how->step(c) : 1);
      any = any || factors.back() > 1;
    }
    if (any) enlarge(*weights, *how, factors);
  }

  void enlarge(const Node& weights, const Quantization& how, const std::vector<double>& factors) {
    Tensor steps = graph_.value(weights.inputs[1]).constant.aligned().clone();
    Tensor integers = graph_.value(weights.inputs[0]).constant.aligned().clone();
    if (steps.dtype() != DType::kFloat32 || steps.size() != static_cast<std::int64_t>(factors.size())) return;
    auto axis = static_cast<std::size_t>(how.axis);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < integers.shape().size(); ++i) inner *= integers.shape()[i];
    for (std::size_t c = 0; c < factors.size(); ++c)
      steps.mutable_data<float>()[c] =
          static_cast<float>(static_cast<double>(steps.data<float>()[c]) * factors[c]);
    auto data = integers.mutable_data<std::int8_t>();
    for (std::size_t i = 0; i < data.size(); ++i) {
      const double factor = factors[i / static_cast<std::size_t>(inner) % factors.size()];
      if (factor > 1) data[i] = static_cast<std::int8_t>(std::nearbyint(data[i] / factor));
    }
    changed_.emplace_back(weights.inputs[1], std::move(steps));
    changed_.emplace_back(weights.inputs[0], std::move(integers));
  }

  const Writer& w_;
  const Graph& graph_;
  std::vector<std::pair<ValueId, Tensor>> changed_;
};

}  // namespace

std::vector<std::pair<ValueId, Tensor>> guarded_weights(const Writer& w) {
  return w.target() == Target::kCpu ? Guard(w).run() : std::vector<std::pair<ValueId, Tensor>>();
}

}  // namespace octet::onnx
