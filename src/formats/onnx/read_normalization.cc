#include <algorithm>

#include "formats/onnx/rows.h"

// Normalisation, and what runs along an axis.
namespace octet::onnx {

namespace {

void read_batch_norm(Reader& r, const ReadRow&) {
  if (r.integer("training_mode", 0) != 0) fail("training_mode is 1; octet takes the model's statistics");
  if (r.opset() < 9 && r.integer("spatial", 1) == 0)
    fail("spatial is 0: statistics for each element, not each channel");
  r.result(r.emit("batch_norm", {r.in(0), r.in(1), r.in(2), r.in(3), r.in(4)},
                  {{"epsilon", r.real("epsilon", 1e-5f)}}));
}

// layer_norm's scale and bias are flat, and as many as there are numbers to normalise.
ValueId flat(Reader& r, ValueId id) {
  return id == kNoValue || r.rank(id) == 1 ? id : r.emit("reshape", {id}, {{"shape", Ints{-1}}});
}

// Also RMS normalisation, which does not subtract the mean.
void read_layer_norm(Reader& r, const ReadRow& row) {
  const ValueId x = r.in(0);
  const std::int64_t axis = Reader::axis(r.integer("axis", -1), r.rank(x));
  Attrs attrs = {{"epsilon", r.real("epsilon", 1e-5f)}, {"begin_norm_axis", axis}};
  if (row.type == "RMSNormalization") attrs["centered"] = false;
  const Shape normalised(r.shape(x).begin() + axis, r.shape(x).end());
  const bool fits = r.shape(r.in(1)) == normalised && (!r.has(2) || r.shape(r.in(2)) == normalised);
  const std::size_t outputs = r.wants(2) ? 3 : r.wants(1) ? 2 : 1;
  std::vector<ValueId> inputs = {x};
  if (fits) inputs.push_back(flat(r, r.in(1)));
  if (fits && r.has(2)) inputs.push_back(flat(r, r.in(2)));
  std::vector<ValueId> made = r.emit_multi("layer_norm", inputs, attrs, outputs);
  if (!fits) {  // a scale that broadcasts
    made[0] = r.emit("mul", {made[0], r.in(1)});
    if (r.has(2)) made[0] = r.emit("add", {made[0], r.in(2)});
  }
  for (std::size_t i = 0; i < outputs; ++i) r.result(made[i], i);
}

void read_instance_norm(Reader& r, const ReadRow&) {
  r.result(r.emit("group_norm", {r.in(0), r.in(1), r.in(2)}, {{"epsilon", r.real("epsilon", 1e-5f)}}));
}

void read_group_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const std::int64_t groups = r.integer("num_groups");
  if (groups < 1) fail("num_groups is {}", groups);
  ValueId scale = r.in(1), bias = r.in(2);
  if (r.opset() < 21) {  // one a group
    const std::int64_t channels = r.rank(x) < 2 ? kUnknown : r.shape(x)[1];
    if (channels == kUnknown || channels % groups != 0)
      fail("x has {} channels for {} groups", channels, groups);
    auto repeated = [&](ValueId id) {
      ValueId column = r.emit("reshape", {id}, {{"shape", Ints{-1, 1}}});
      return r.emit("reshape", {r.emit("expand", {column}, {{"shape", Ints{groups, channels / groups}}})},
                    {{"shape", Ints{-1}}});
    };
    scale = repeated(scale);
    bias = repeated(bias);
  }
  r.result(
      r.emit("group_norm", {x, scale, bias}, {{"epsilon", r.real("epsilon", 1e-5f)}, {"groups", groups}}));
}

void read_lrn(Reader& r, const ReadRow&) {
  r.result(r.emit("lrn", {r.in(0)},
                  {{"size", r.integer("size")},
                   {"alpha", r.real("alpha", 1e-4f)},
                   {"beta", r.real("beta", 0.75)},
                   {"bias", r.real("bias", 1)}}));
}

void read_lp_norm(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const Ints axes = {Reader::axis(r.integer("axis", -1), r.rank(x))};
  const std::int64_t p = r.integer("p", 2);
  if (p != 1 && p != 2) fail("p is {}, expected 1 or 2", p);
  ValueId terms = p == 1 ? r.emit("abs", {x}) : r.emit("mul", {x, x});
  ValueId norm = r.emit("reduce_sum", {terms}, {{"axes", axes}, {"keepdims", true}});
  if (p == 2) norm = r.emit("sqrt", {norm});
  // Nothing divided by nothing is nothing.
  ValueId zero = number(r, 0);
  ValueId is_zero = r.emit("equal", {norm, zero});
  r.result(r.emit("div", {x, r.emit("where", {is_zero, number(r, 1), norm})}));
}

// Before opset 13 all dimensions from the axis on are one.
template <class Work>
void along_axis(Reader& r, Work work) {
  const ValueId x = r.in(0);
  if (r.opset() >= 13) return r.result(work(x, r.integer("axis", -1)));
  const std::int64_t axis = Reader::axis(r.integer("axis", 1), r.rank(x));
  const Shape& shape = r.shape(x);
  if (std::all_of(shape.begin() + axis + 1, shape.end(), [](std::int64_t size) { return size == 1; }))
    return r.result(work(x, axis));
  ValueId joined = r.emit("flatten", {x}, {{"start_axis", axis}, {"stop_axis", std::int64_t{-1}}});
  r.result(r.emit("reshape", {work(joined, -1), shape_of(r, x)}));
}

void read_softmax(Reader& r, const ReadRow&) {
  along_axis(r, [&](ValueId x, std::int64_t axis) { return r.emit("softmax", {x}, {{"axis", axis}}); });
}

void read_log_softmax(Reader& r, const ReadRow&) {
  along_axis(r, [&](ValueId x, std::int64_t axis) { return r.emit("log_softmax", {x}, {{"axis", axis}}); });
}

}  // namespace

std::vector<ReadRow> normalization_rows() {
  return {
      {"BatchNormalization", 6, "batch_norm", read_batch_norm, "not with training_mode or spatial 0"},
      {"LayerNormalization", 17, "layer_norm", read_layer_norm},
      {"RMSNormalization", 23, "layer_norm", read_layer_norm},
      {"InstanceNormalization", 6, "group_norm", read_instance_norm},
      {"GroupNormalization", 18, "group_norm", read_group_norm},
      {"LRN", 1, "lrn", read_lrn},
      {"LpNormalization", 1, "", read_lp_norm},
      {"Softmax", 1, "softmax", read_softmax},
      {"LogSoftmax", 1, "log_softmax", read_log_softmax},
  };
}

}  // namespace octet::onnx
