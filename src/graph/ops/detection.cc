#include "graph/ops/detection.h"

#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

// A float that an input overrides.
std::optional<float> float_from(const ValueInfo* input, float value, std::string_view what) {
  if (!input) return value;
  require_float(*input, what);
  merge_dims(product(input->shape), 1, fmt::format("the number of elements of {}", what));
  if (!input->data) return std::nullopt;
  return input->data->aligned().data<float>()[0];
}

void infer_non_max_suppression(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo &boxes = *inputs[0], &scores = *inputs[1];
  require_float(boxes, "boxes");
  require_float(scores, "scores");
  require_rank(boxes, "boxes", 3);
  require_rank(scores, "scores", 3);
  merge_dims(boxes.shape[2], 4, "the numbers of a box");
  merge_dims(boxes.shape[0], scores.shape[0], "the images of boxes and scores");
  merge_dims(boxes.shape[1], scores.shape[2], "the boxes and their scores");
  std::optional<NmsOptions> options = nms_options(node, inputs);
  outputs[0] = {DType::kInt64, {kUnknown, 3}};
  if (options && boxes.data && scores.data)
    outputs[0].shape[0] = static_cast<std::int64_t>(select_boxes(*boxes.data, *scores.data, *options).size());
}

void infer_roi_align(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo &x = *inputs[0], &rois = *inputs[1], &images = *inputs[2];
  require_float(x, "x");
  require_float(rois, "rois");
  require_dtype(images, "images", {DType::kInt32, DType::kInt64});
  require_rank(x, "x", 4);
  require_rank(rois, "rois", 2);
  require_rank(images, "images", 1);
  merge_dims(rois.shape[1], 4, "the numbers of a region");
  std::int64_t count = merge_dims(rois.shape[0], images.shape[0], "the regions and their images");
  outputs[0] = {DType::kFloat32,
                {count, x.shape[1], attr<std::int64_t>(node, "out_h"), attr<std::int64_t>(node, "out_w")}};
}

void infer_grid_sample(const Node&, Inputs inputs, Outputs outputs) {
  const ValueInfo &x = *inputs[0], &grid = *inputs[1];
  require_float(x, "x");
  require_float(grid, "grid");
  if (x.shape.size() != 4 && x.shape.size() != 5)
    fail("x has shape {}, expected 4 or 5 dimensions", to_string(x.shape));
  require_rank(grid, "grid", x.shape.size());
  merge_dims(grid.shape.back(), static_cast<std::int64_t>(x.shape.size()) - 2, "the numbers of a position");
  for (std::size_t i = 2; i < x.shape.size(); ++i)
    if (x.shape[i] == 0) fail("x has shape {}: there is nothing to look at", to_string(x.shape));
  Shape out = {merge_dims(x.shape[0], grid.shape[0], "the images of x and grid"), x.shape[1]};
  out.insert(out.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  outputs[0] = {DType::kFloat32, std::move(out)};
}

}  // namespace

std::optional<NmsOptions> nms_options(const Node& node, Inputs inputs) {
  NmsOptions options;
  options.centered = attr<bool>(node, "centered");
  const ValueInfo *max_boxes = input_at(inputs, 2), *score = input_at(inputs, 4);
  std::optional<std::int64_t> most = max_boxes ? int_of(*max_boxes, "max_boxes") : 0;
  std::optional<float> iou = float_from(input_at(inputs, 3), 0, "iou_threshold");
  std::optional<float> low = float_from(score, 0, "score_threshold");
  if (!most || !iou || !low) return std::nullopt;
  options.max_boxes = *most;
  options.iou_threshold = *iou;
  options.has_score_threshold = score != nullptr;
  options.score_threshold = *low;
  return options;
}

std::vector<OpSpec> detection() {
  const AttrSpec side{"", std::int64_t{1}, between(1, kMaxExtent)};
  AttrSpec height = side, width = side;
  height.name = "out_h";
  width.name = "out_w";
  return {{.name = "non_max_suppression",
           .inputs = {"boxes", "scores", "max_boxes?", "iou_threshold?", "score_threshold?"},
           .attrs = {flag("centered", false)},
           .infer = infer_non_max_suppression,
           .kind = OpKind::kDataMovement,
           .trainable = false},
          {.name = "roi_align",
           .inputs = {"x", "rois", "images"},
           .attrs = {{"mode", "avg", words({"avg", "max"})},
                     height,
                     width,
                     {"sampling_ratio", std::int64_t{0}, between(0, kMaxStep)},
                     number_attr("scale", 1),
                     flag("half_pixel", true)},
           .infer = infer_roi_align,
           .kind = OpKind::kResize,
           .range = ValueRange::kOfInputsOrZero,
           .trainable = false},
          {.name = "grid_sample",
           .inputs = {"x", "grid"},
           .attrs = {{"mode", "linear", words({"linear", "nearest", "cubic"})},
                     {"padding", "zeros", words({"zeros", "border", "reflection"})},
                     flag("align_corners", false)},
           .infer = infer_grid_sample,
           .kind = OpKind::kResize,
           .trainable = false}};
}

}  // namespace octet::ops
