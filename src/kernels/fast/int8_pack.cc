#include "kernels/fast/int8_pack.h"

#include <algorithm>
#include <limits>
#include <utility>

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

// Puts weights of bytes in the order of a left side, of which a segment is filled up to whole units: a unit's
// 4 of a column, then those of the next column. Adds them to the sums of their columns.
void put_bytes(const WeightColumns& weights, const LhsLayout& form, std::int64_t unit_bytes, std::int8_t* to,
               std::int32_t* sums) {
  constexpr std::int64_t kBlock = 16;  // columns: what is read and written of them stays in the cache
  const std::int64_t block = weights.step == 1 ? weights.count : kBlock;
  const auto put = [&](const std::int64_t* offsets, int size, std::int64_t column, std::int8_t* unit) {
    std::int32_t sum = 0;
    for (int i = 0; i < size; ++i) {
      const std::int8_t weight = weights.bytes[offsets[i] + column * weights.step];
      unit[4 * column + i] = weight;
      sum += weight;
    }
    sums[column] += sum;
  };
  for (std::int64_t first = 0; first < weights.count; first += block) {
    const std::int64_t end = std::min(first + block, weights.count);
    const std::int64_t* offsets = form.offsets.data();
    std::int8_t* unit = to;
    for (std::int64_t s = 0; s < form.segments; ++s)
      for (std::int64_t done = 0; done < form.length; done += 4, unit += unit_bytes) {
        const auto size = static_cast<int>(std::min<std::int64_t>(4, form.length - done));
        if (size == 4)  // a constant, which the compiler makes use of
          for (std::int64_t c = first; c < end; ++c) put(offsets, 4, c, unit);
        else
          for (std::int64_t c = first; c < end; ++c) put(offsets, size, c, unit);
        offsets += size;
      }
  }
}

// The weights of a panel in the order of its left side, a segment filled up with zeros to whole units. Where
// products added in 16 bits could overflow, a part of their weights goes from `once` to `again`, and units
// with such a part are multiplied a second time, with that part.
struct SplitWeights {
  // In place of what was here, in the same memory: to take new one for each panel would cost more.
  void take(const WeightColumns& weights, const LhsLayout& form) {
    units = form.units();
    segments = form.segments;
    columns = weights.count;
    is_wide = false;
    again.clear();
    once.assign(static_cast<std::size_t>(columns * segments * units * 4), 0);
    sums.assign(static_cast<std::size_t>(columns), 0);
    if (weights.bytes) return put_bytes(weights, form, 4 * columns, once.data(), sums.data());
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t offset : form.offsets)
        sums[static_cast<std::size_t>(c)] += weights.words[offset + c * weights.step];
    for (std::int64_t i = 0; i < segments * form.length; ++i) {
      std::int64_t unit = i / form.length * units + i % form.length / 4;
      const std::size_t to = index(0, unit) + static_cast<std::size_t>(i % form.length % 4);
      const std::int64_t from = form.offsets[static_cast<std::size_t>(i)];
      for (std::int64_t c = 0; c < columns; ++c)
        put(to + static_cast<std::size_t>(4 * c), weights.words[from + c * weights.step]);
    }
  }

  // A weight that does not fit into a byte is split at once; the rest fits, up to kMaxWeight.
  void put(std::size_t at, int weight) {
    is_wide = is_wide || weight < -128 || weight > 127;
    if (weight >= -128 && weight <= 127) {
      once[at] = static_cast<std::int8_t>(weight);
      return;
    }
    again.resize(once.size());
    once[at] = static_cast<std::int8_t>(std::clamp(weight, -127, 127));
    again[at] = static_cast<std::int8_t>(weight - once[at]);
  }

  // Of a unit, counted over all segments.
  std::size_t index(std::int64_t column, std::int64_t unit) const {
    return static_cast<std::size_t>((unit * columns + column) * 4);
  }

  // Makes sums of one pair, or those of `at_once` = 2 neighbouring units of a segment, fit. False:
  // impossible, or more than `most_again` units would have to come again.
  bool split(const PairLimits& limits, std::int64_t at_once, std::int64_t most_again) {
    again.resize(once.size());
    for (std::int64_t unit = 0; unit < segments * units;) {
      std::int64_t count = std::min(at_once, units - unit % units);
      if (!split_units(limits, unit, count)) return false;
      if (!overflows_.empty() && --most_again < 0) return false;
      unit += count;
    }
    return true;
  }

  // For kOpposed, which can't negate either of two weights of -128.
  void split_lowest() {
    again.resize(once.size());
    for (std::size_t pair = 0; pair < once.size(); pair += 2)
      if (once[pair] == -128 && once[pair + 1] == -128) std::swap(once[pair], again[pair]);
  }

  bool comes_again(std::int64_t unit) const {
    const std::int8_t* first = &again[index(0, unit)];
    int bits = 0;  // in place of an early end, which compilers don't make vectors of
    for (std::int64_t i = 0; i < 4 * columns; ++i) bits |= first[i];
    return bits != 0;
  }

  std::vector<std::int64_t> units_again() const {
    std::vector<std::int64_t> list;
    if (again.empty()) return list;
    for (std::int64_t unit = 0; unit < segments * units; ++unit)
      if (comes_again(unit)) list.push_back(unit);
    return list;
  }

  std::int64_t units = 0, segments = 0, columns = 0;
  bool is_wide = false;                  // some weight does not fit into a byte
  std::vector<std::int8_t> once, again;  // [segment][unit][column][4]; nothing in `again` unless split
  std::vector<std::int32_t> sums;        // of each column

 private:
  bool split_units(const PairLimits& limits, std::int64_t unit, std::int64_t count) {
    auto reach = [&](const std::vector<std::int8_t>& w, std::size_t at, bool below) {
      return limits.reach(w[at], below) + limits.reach(w[at + 1], below);
    };
    const std::size_t first = index(0, unit), next = static_cast<std::size_t>(4 * columns);
    auto excess_of = [&](std::size_t pair, bool below) {
      int all = reach(once, first + pair, below) - limits.most(below);
      return count > 1 ? all + reach(once, first + next + pair, below) : all;
    };
    // As few units as possible shall come again: the first one, if its weights are enough for all columns.
    overflows_.clear();
    if (worst_excess(limits, unit, count) <= 0) return true;
    bool last_first = false;
    for (std::size_t pair = 0; pair < next; pair += 2)
      for (bool below : {false, true})
        if (int excess = excess_of(pair, below); excess > 0) {
          overflows_.push_back({pair, below});
          last_first = last_first || excess > reach(once, first + pair, below);
        }
    for (auto [pair, below] : overflows_) {
      int excess = excess_of(pair, below);
      for (std::int64_t i = 0; i < count && excess > 0; ++i) {
        std::size_t at = first + pair + next * static_cast<std::size_t>(last_first ? count - 1 - i : i);
        int room = std::min(excess, limits.most(below) - reach(again, at, below));
        for (std::size_t place : {at, at + 1}) {
          int part = std::min({limits.reach(once[place], below), room, 127});
          int moved = once[place] < 0 ? -part : part;
          once[place] = static_cast<std::int8_t>(once[place] - moved);
          again[place] = static_cast<std::int8_t>(again[place] + moved);
          room -= part;
          excess -= part;
        }
      }
      if (excess > 0) return false;
    }
    return true;
  }

  // The largest of a pair, as below; without branches, since it is asked of every unit.
  int worst_excess(const PairLimits& limits, std::int64_t unit, std::int64_t count) const {
    const std::int8_t* first = &once[index(0, unit)];
    const std::int8_t* second = count > 1 ? first + 4 * columns : nullptr;
    int above = 0, below = 0;
    const auto reach = [&](int weight, bool is_below) { return limits.reach(weight, is_below); };
    for (std::int64_t pair = 0; pair < 4 * columns; pair += 2) {
      int up = reach(first[pair], false) + reach(first[pair + 1], false);
      int down = reach(first[pair], true) + reach(first[pair + 1], true);
      if (second) {
        up += reach(second[pair], false) + reach(second[pair + 1], false);
        down += reach(second[pair], true) + reach(second[pair + 1], true);
      }
      above = std::max(above, up);
      below = std::max(below, down);
    }
    return std::max(above - limits.most(false), below - limits.most(true));
  }

  struct Overflow {
    std::size_t pair;  // its place among the weights of a unit
    bool below;
  };
  std::vector<Overflow> overflows_;  // of the units that are being split
};

// The kind of a panel, and its weights. One for all panels of a product.
class KindChoice {
 public:
  Int8Kind kind = Int8Kind::kDot;
  SplitWeights weights;

  void make(const simd::Int8Features& features, const WeightColumns& columns, const LhsLayout& form,
            LhsRange range) {
    plain_.take(columns, form);
    if (features.dot) return take(Int8Kind::kDot, plain_);
    if (plain_.is_wide) {  // rare: what is exact for all operands will do
      plain_.split_lowest();
      return take(features.opposed ? Int8Kind::kOpposed : Int8Kind::kPairs, plain_);
    }
    // Times that were measured: of a unit in each kind, and of one that comes again.
    constexpr std::int64_t kOpposed = 11, kPairs = 10, kPairs2 = 8, kAgain = 14;
    std::int64_t units = form.segments * form.units(), best = std::numeric_limits<std::int64_t>::max();
    kind = Int8Kind::kPairs;
    weights = plain_;
    if (features.opposed) {
      kind = Int8Kind::kOpposed;
      weights.split_lowest();
      best = kOpposed * units + kAgain * static_cast<std::int64_t>(weights.units_again().size());
    }
    auto consider = [&](Int8Kind other, std::int64_t at_once, std::int64_t time) {
      time *= units;
      if (time >= best) return;
      tried_ = plain_;
      if (!tried_.split(PairLimits(features, range), at_once, (best - time) / kAgain)) return;
      time += kAgain * static_cast<std::int64_t>(tried_.units_again().size());
      if (time >= best) return;
      best = time;
      take(other, tried_);
    };
    if (features.pairs2) consider(Int8Kind::kPairs2, 2, kPairs2);
    consider(Int8Kind::kPairs, 1, kPairs);
  }

 private:
  void take(Int8Kind chosen, SplitWeights& from) {
    kind = chosen;
    std::swap(weights, from);
  }

  SplitWeights plain_, tried_;
};

// Packs a unit's 4 weights of a column of a kOpposed panel, with what inverts their left sides. Returns what
// all the left sides together add to the sum when they are 0.
std::int32_t pack_opposed(const std::int8_t* weights, std::int8_t* inversions, std::int8_t* to) {
  constexpr std::int8_t kUp = -128, kRound = 127;  // x ^ kUp is x + 128 as a uint8, and x ^ kRound is 127 - x
  std::int32_t sum = 0;
  for (int i = 0; i < 4; i += 2) {
    std::copy_n(weights + i, 2, to + i);
    std::fill_n(inversions + i, 2, kUp);
    if ((to[i] < 0) == (to[i + 1] < 0)) {
      int turned = to[i] == -128 ? i + 1 : i;
      to[turned] = static_cast<std::int8_t>(-to[turned]);
      inversions[turned] = kRound;
    }
    for (int j : {i, i + 1}) sum += to[j] * (inversions[j] == kUp ? 128 : 127);
  }
  return sum;
}

}  // namespace

WeightColumns all_columns(const Tensor& weight) {
  if (weight.dtype() == DType::kInt8) return {.bytes = weight.data<std::int8_t>().data()};
  return {.words = weight.data<std::int16_t>().data()};
}

std::vector<std::int16_t> weights_of(const Tensor& weight) {
  if (weight.dtype() == DType::kInt8)
    return {weight.data<std::int8_t>().begin(), weight.data<std::int8_t>().end()};
  return {weight.data<std::int16_t>().begin(), weight.data<std::int16_t>().end()};
}

LhsRange lhs_range(const Node& node) {
  return {std::min(attr<int>(node, "x_min"), 0), std::max(attr<int>(node, "x_max"), 0)};
}

std::int8_t lhs_zero(const KernelArgs& args) {
  const Tensor* zero = args.input("x_zero");
  return zero ? zero->data<std::int8_t>()[0] : std::int8_t{0};
}

Rescaling::Rescaling(const PrepareArgs& args)
    : multiplier(args.constant("multiplier").aligned()), bias(args.constant("bias").aligned()) {}

Rescaling Rescaling::repeated(std::int64_t times) const {
  Rescaling result = *this;
  for (Tensor* tensor : {&result.multiplier, &result.bias}) {
    const bool one_for_all = tensor == &result.multiplier && tensor->size() == 1;
    if (tensor->empty() || one_for_all) continue;
    Tensor copies(DType::kFloat32, {tensor->size() * times});
    for (std::int64_t i = 0; i < times; ++i)
      std::ranges::copy(tensor->data<float>(), copies.mutable_data<float>().data() + i * tensor->size());
    *tensor = copies;
  }
  return result;
}

bool can_pack(const PrepareArgs& args) {
  return args.is_constant("weight") && args.is_constant("multiplier") &&
         (!args.value("bias") || args.is_constant("bias")) && !args.is_constant("x") &&
         !args.is_constant("residual");
}

void pack_panels(const simd::Int8Features& features, const WeightColumns& weights, LhsRange range,
                 const Rescaling& rescaling, std::int64_t first, std::int64_t offset,
                 PackedProduct& product) {
  const bool is_split = !features.dot || !weights.bytes;  // otherwise it is bytes for the dot product
  KindChoice chosen;
  std::int64_t done = 0;
  for (int vectors : split_vectors((weights.count + features.lanes - 1) / features.lanes)) {
    std::int64_t width = vectors * features.lanes, count = std::min(width, weights.count - done);
    const WeightColumns columns = weights.part(done * weights.step, weights.step, count);
    PackedPanel packed;
    packed.first = first + done;
    packed.offset = offset;
    if (is_split) chosen.make(features, columns, product.form, range);
    packed.panel.kind = chosen.kind;
    packed.panel.vectors = vectors;
    packed.panel.columns = count;
    packed.panel.shift = 0;
    if (packed.panel.kind == Int8Kind::kDot)
      packed.panel.shift = -128;  // as uint8, 128
    else if (packed.panel.kind == Int8Kind::kPairs || packed.panel.kind == Int8Kind::kPairs2)
      packed.panel.shift = static_cast<std::int8_t>(PairLimits(features, range).shift);

    const LhsLayout& form = product.form;
    const bool opposed = packed.panel.kind == Int8Kind::kOpposed;
    const std::vector<std::int64_t> units_again =
        is_split ? chosen.weights.units_again() : std::vector<std::int64_t>();
    std::int64_t units = form.units(), again = static_cast<std::int64_t>(units_again.size());
    std::int64_t header = width * static_cast<std::int64_t>(2 * sizeof(std::int32_t) + 2 * sizeof(float));
    std::int64_t vector = features.lanes * 4, unit_bytes = vectors * vector * (opposed ? 2 : 1);
    std::int64_t all_units = (form.segments * units + again) * unit_bytes;
    std::int64_t table = (form.segments + again) * static_cast<std::int64_t>(sizeof(std::int32_t));
    packed.memory = Tensor(DType::kInt8, {header + all_units + table});
    std::int8_t* memory = packed.memory.mutable_data<std::int8_t>().data();
    std::fill_n(memory, packed.memory.size(), std::int8_t{0});
    auto* init = reinterpret_cast<std::int32_t*>(memory);
    std::int32_t* sums = init + width;
    auto* multiplier = reinterpret_cast<float*>(sums + width);
    float* bias = multiplier + width;
    std::int8_t* to = memory + header;
    auto* second = reinterpret_cast<std::int32_t*>(to + all_units);
    packed.panel.init = init;
    packed.sums = sums;
    packed.panel.multiplier = multiplier;
    packed.panel.bias = bias;
    packed.panel.weights = to;
    packed.panel.again = second;

    auto multipliers = rescaling.multiplier.data<float>();
    std::int32_t shift = static_cast<std::uint8_t>(packed.panel.shift);
    if (is_split)
      std::ranges::copy(chosen.weights.sums, sums);
    else
      put_bytes(columns, form, unit_bytes, to, sums);
    for (std::int64_t c = 0; c < count; ++c) {
      auto at = static_cast<std::size_t>(packed.first + c);
      multiplier[c] = multipliers[multipliers.size() == 1 ? 0 : at];
      if (!rescaling.bias.empty()) bias[c] = rescaling.bias.data<float>()[at];
      init[c] = -shift * sums[c];
    }
    auto put = [&](const std::vector<std::int8_t>& of_units, std::int64_t unit) {
      const std::int8_t* from = &of_units[chosen.weights.index(0, unit)];
      if (opposed) {
        for (std::int64_t c = 0; c < count; ++c) {
          std::int8_t* at = to + 4 * c + c / features.lanes * vector;
          init[c] -= pack_opposed(from + 4 * c, at, at + vector);
        }
      } else {
        std::copy_n(from, 4 * count, to);
      }
      to += unit_bytes;
    };
    auto next = units_again.begin();
    for (std::int64_t s = 0; is_split && s < form.segments; ++s) {
      for (std::int64_t u = 0; u < units; ++u) put(chosen.weights.once, s * units + u);
      std::int32_t& counter = *second++;
      for (; next != units_again.end() && *next < (s + 1) * units; ++next, ++counter) {
        *second++ = static_cast<std::int32_t>(*next - s * units);
        put(chosen.weights.again, *next);
      }
    }
    product.panels.push_back(std::move(packed));
    done += count;
  }
}

}  // namespace octet::fast
