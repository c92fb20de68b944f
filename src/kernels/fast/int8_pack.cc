#include "kernels/fast/int8_pack.h"

#include <algorithm>

namespace octet::fast {
namespace {

using simd::Int8Kind;

// The vectors of each panel: 3 or 4 fill the registers best.
std::vector<int> split_vectors(std::int64_t vectors) {
  std::vector<int> parts;
  while (vectors > 0) {
    int part = vectors <= 4 ? static_cast<int>(vectors) : vectors % 3 == 0 || vectors == 5 ? 3 : 4;
    parts.push_back(part);
    vectors -= part;
  }
  return parts;
}

// Whether products of pairs, and of two units' pairs, fit into 16 bits.
struct PairFit {
  bool one = true, two = true;
};

PairFit fit_of(const simd::Int8Features& features, const WeightColumns& weights, const LeftForm& form,
               LeftRange range) {
  PairFit fit;
  PairLimits limits(features, range);
  for (std::int64_t c = 0; c < weights.count; ++c)
    for (std::int64_t s = 0; s < form.segments; ++s) {
      const std::int64_t* offsets = form.offsets.data() + s * form.length;
      auto weight = [&](std::int64_t i) {
        return i < form.length ? limits.weight(weights.data[c * weights.step + offsets[i]]) : 0;
      };
      for (std::int64_t i = 0; i < form.length; i += 2) {
        Reach reach;
        reach.add(weight(i));
        reach.add(weight(i + 1));
        if (!reach.fits(limits.left)) return {false, false};
        if (i % 8 >= 4) continue;
        reach.add(weight(i + 4));
        reach.add(weight(i + 5));
        fit.two = fit.two && reach.fits(limits.left);
      }
    }
  return fit;
}

Int8Kind kind_of(const simd::Int8Features& features, const WeightColumns& weights, const LeftForm& form,
                 LeftRange range) {
  if (features.dot) return Int8Kind::kDot;
  PairFit fit = fit_of(features, weights, form, range);
  if (!fit.one) return Int8Kind::kWide;
  return fit.two && features.pairs2 ? Int8Kind::kPairs2 : Int8Kind::kPairs;
}

}  // namespace

LeftRange left_range(const Node& node) {
  return {std::min(attr<int>(node, "x_min"), 0), std::max(attr<int>(node, "x_max"), 0)};
}

Rescaling::Rescaling(const PrepareArgs& args)
    : multiplier(args.constant(2).aligned()), bias(args.constant(3).aligned()) {}

bool can_pack(const PrepareArgs& args) {
  auto constant = [&](std::size_t i) { return args.value(i) && args.value(i)->is_constant(); };
  return constant(1) && constant(2) && (!args.value(3) || constant(3)) && !constant(0) && !constant(5);
}

bool PackedProduct::uses(bool is_wide) const {
  return std::any_of(panels.begin(), panels.end(),
                     [&](const PackedPanel& panel) { return panel.wide() == is_wide; });
}

void PackedProduct::drop_offsets() {
  for (LeftForm* form : {&narrow, &wide}) form->offsets = {};
}

void pack_panels(const simd::Int8Features& features, const WeightColumns& weights, LeftRange range,
                 const Rescaling& rescaling, std::int64_t first, std::int64_t offset,
                 PackedProduct& product) {
  std::int64_t done = 0;
  for (int vectors : split_vectors((weights.count + features.lanes - 1) / features.lanes)) {
    std::int64_t width = vectors * features.lanes, count = std::min(width, weights.count - done);
    WeightColumns columns = {weights.data + done * weights.step, weights.step, count};
    PackedPanel packed;
    packed.first = first + done;
    packed.offset = offset;
    packed.panel.kind = kind_of(features, columns, product.narrow, range);
    packed.panel.vectors = vectors;
    packed.panel.columns = count;
    packed.panel.shift = 0;
    if (packed.panel.kind == Int8Kind::kDot)
      packed.panel.shift = -128;  // as uint8, 128
    else if (!packed.wide())
      packed.panel.shift = static_cast<std::int8_t>(PairLimits(features, range).shift);

    const LeftForm& form = product.form(packed.wide());
    std::int64_t per_unit = packed.wide() ? 2 : 4, units = form.units(packed.wide());
    std::int64_t header = width * static_cast<std::int64_t>(sizeof(std::int32_t) + 2 * sizeof(float));
    packed.memory = Tensor(DType::kInt8, {header + form.segments * units * width * 4});
    std::int8_t* memory = packed.memory.mutable_data<std::int8_t>().data();
    std::fill_n(memory, packed.memory.size(), std::int8_t{0});
    auto* init = reinterpret_cast<std::int32_t*>(memory);
    auto* multiplier = reinterpret_cast<float*>(init + width);
    float* bias = multiplier + width;
    std::int8_t* to = memory + header;
    packed.panel.init = init;
    packed.panel.multiplier = multiplier;
    packed.panel.bias = bias;
    packed.panel.weights = to;

    auto multipliers = rescaling.multiplier.data<float>();
    std::int32_t shift = static_cast<std::uint8_t>(packed.panel.shift);
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int8_t* column = columns.data + c * columns.step;
      auto at = static_cast<std::size_t>(packed.first + c);
      multiplier[c] = multipliers[multipliers.size() == 1 ? 0 : at];
      if (!rescaling.bias.empty()) bias[c] = rescaling.bias.data<float>()[at];
      std::int32_t sum = 0;
      for (std::int64_t s = 0; s < form.segments; ++s)
        for (std::int64_t i = 0; i < form.length; ++i) {
          std::int8_t weight = column[form.offsets[static_cast<std::size_t>(s * form.length + i)]];
          sum += weight;
          std::int64_t place = ((s * units + i / per_unit) * width + c) * per_unit + i % per_unit;
          if (packed.wide())
            reinterpret_cast<std::int16_t*>(to)[place] = weight;
          else
            to[place] = weight;
        }
      init[c] = -shift * sum;
    }
    product.panels.push_back(std::move(packed));
    done += count;
  }
}

}  // namespace octet::fast
