#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_expand(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  auto wanted = ints_from({}, input_at(inputs, 1), attr<IntList>(node, "shape"), "shape");
  outputs[0].dtype = inputs[0]->dtype;
  if (!wanted) return;
  Shape target;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::optional<std::int64_t> dim = (*wanted)[i];
    if (dim && *dim < -1) fail("shape has a dimension {}", *dim);
    // -1 keeps x's dimension.
    target.push_back(!dim ? kUnknown : *dim == -1 ? 1 : *dim);
  }
  Shape out = broadcast(x, target).out;
  // Of an unknown number, only that it is none or one or x's own is sure.
  for (std::size_t i = 0; i < target.size(); ++i)
    if (target[target.size() - 1 - i] == kUnknown && (i >= x.size() || x[x.size() - 1 - i] == 1))
      out[out.size() - 1 - i] = kUnknown;
  check_made(out);
  outputs[0].shape = std::move(out);
}

void infer_tile(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape& x = inputs[0]->shape;
  auto repeats = ints_from({}, input_at(inputs, 1), attr<IntList>(node, "repeats"), "repeats");
  outputs[0].dtype = inputs[0]->dtype;
  if (!repeats) {
    outputs[0].shape.assign(x.size(), kUnknown);
    return;
  }
  if (repeats->size() != x.size()) fail("{} repeats for {} dimensions", repeats->size(), x.size());
  constexpr std::int64_t kMaxRepeats = std::int64_t{1} << 28;
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::optional<std::int64_t> times = (*repeats)[i];
    if (times && (*times < 0 || *times > kMaxRepeats))
      fail("a dimension cannot be repeated {} times", *times);
    out.push_back(!times || x[i] == kUnknown ? kUnknown : element_count({x[i], *times}));
  }
  check_made(out);
  outputs[0].shape = std::move(out);
}

void infer_depth_to_space(const Node& node, Inputs inputs, Outputs outputs) {
  require_rank(*inputs[0], "x", 4);
  const Shape& x = inputs[0]->shape;
  std::int64_t block = attr<std::int64_t>(node, "block");
  if (x[1] != kUnknown && x[1] % (block * block) != 0)
    fail("{} channels are no multiple of a block's {} pixels", x[1], block * block);
  outputs[0] = {inputs[0]->dtype,
                {x[0], x[1] == kUnknown ? kUnknown : x[1] / (block * block),
                 x[2] == kUnknown ? kUnknown : x[2] * block, x[3] == kUnknown ? kUnknown : x[3] * block}};
}

void infer_space_to_depth(const Node& node, Inputs inputs, Outputs outputs) {
  require_rank(*inputs[0], "x", 4);
  const Shape& x = inputs[0]->shape;
  std::int64_t block = attr<std::int64_t>(node, "block");
  for (std::size_t i : {std::size_t{2}, std::size_t{3}})
    if (x[i] != kUnknown && x[i] % block != 0)
      fail("a side of {} is no multiple of blocks of {}", x[i], block);
  outputs[0] = {inputs[0]->dtype,
                {x[0], x[1] == kUnknown ? kUnknown : x[1] * block * block,
                 x[2] == kUnknown ? kUnknown : x[2] / block, x[3] == kUnknown ? kUnknown : x[3] / block}};
}

}  // namespace

std::vector<OpSpec> movement() {
  auto moves = [](OpSpec spec) {
    spec.kind = OpKind::kDataMovement;
    spec.range = ValueRange::kOfInputs;
    spec.selects = true;
    spec.trainable = false;
    return spec;
  };
  const AttrSpec block{"block", std::int64_t{1}, between(1, kMaxStep)},
      order{"order", "depth_first", words({"depth_first", "channel_first"})};
  return {moves({.name = "expand",
                 .inputs = {"x", "shape?"},
                 .attrs = {{"shape", IntList{}, anything()}},
                 .infer = infer_expand}),
          moves({.name = "tile",
                 .inputs = {"x", "repeats?"},
                 .attrs = {{"repeats", IntList{}, anything()}},
                 .infer = infer_tile}),
          moves({.name = "depth_to_space", .attrs = {block, order}, .infer = infer_depth_to_space}),
          moves({.name = "space_to_depth", .attrs = {block, order}, .infer = infer_space_to_depth})};
}

}  // namespace octet::ops
