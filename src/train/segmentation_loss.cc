#include "train/segmentation_loss.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "data/example.h"
#include "train/pixel_loss.h"

namespace octet::train {

namespace {

constexpr int kIgnored = Mask::kIgnored;

// What a loss looks at.
struct Seen {
  const LossSpec& spec;
  const at::Tensor &logits, &labels;
  const SegmentationLossOptions& options;

  std::int64_t classes() const { return logits.size(1); }
  // Losses are float32 where the logits have 16 bits.
  at::ScalarType type() const {
    return logits.scalar_type() == at::kBFloat16 ? at::kFloat : logits.scalar_type();
  }
  at::Tensor counted() const { return (labels != kIgnored).to(type()); }
  // The labels as integers, 0 where they are ignored.
  at::Tensor known_labels() const {
    return at::where(labels != kIgnored, labels, at::zeros_like(labels)).to(at::kLong);
  }
  // [N, C, H, W]: 1 at the label of each pixel, ignored ones as class 0.
  at::Tensor one_hot() const {
    return at::one_hot(known_labels(), classes()).permute({0, 3, 1, 2}).to(logits.scalar_type());
  }
  at::Tensor class_weights() const {
    return at::tensor(spec.weight, at::kDouble).to(logits.device(), type());
  }
};

at::Tensor cross_entropy(const Seen& seen) {
  constexpr double kEpsilon = 1e-8;
  const LossSpec& spec = seen.spec;
  at::Tensor losses = pixel_cross_entropy(seen.logits, seen.labels, kIgnored);
  at::Tensor weights;
  if (!spec.weight.empty()) {
    weights = seen.class_weights().index({seen.known_labels()});
    losses = losses * weights;
  }
  if (spec.top_k_percent_pixels < 1) {
    const auto pixels = static_cast<double>(losses.numel());
    const auto kept = static_cast<std::int64_t>(spec.top_k_percent_pixels * pixels);
    const auto [worst, places] = losses.flatten().topk(kept);
    if (!weights.defined()) return worst.mean() / (1 + kEpsilon);
    return worst.mean() / (weights.flatten().index_select(0, places).mean() + kEpsilon);
  }
  if (!spec.avg_non_ignore) return losses.mean();
  const at::Tensor counted = seen.counted();
  return losses.mean() / ((weights.defined() ? counted * weights : counted).mean() + kEpsilon);
}

// Which pixels are learned from: 1 or 0.
at::Tensor hard_pixels(const Seen& seen, const at::Tensor& losses) {
  const at::NoGradGuard no_gradients;
  const at::Tensor counted = seen.counted();
  const std::int64_t min_kept = seen.spec.min_kept;
  if (min_kept <= 0 || min_kept >= counted.sum(at::kDouble).item<double>()) return counted;
  // Ignored pixels come last: no probability is above 1.
  const at::Tensor probabilities =
      at::where(counted > 0, at::exp(-losses), at::full_like(losses, 2)).flatten();
  const auto kept = std::min(min_kept, probabilities.numel());
  const double least = std::get<0>(probabilities.kthvalue(kept)).item<double>();
  return counted *
         (probabilities < std::max(seen.spec.thresh, least)).view(counted.sizes()).to(counted.scalar_type());
}

at::Tensor ohem_cross_entropy(const Seen& seen) {
  constexpr double kEpsilon = 1e-5;
  at::Tensor losses = pixel_cross_entropy(seen.logits, seen.labels, kIgnored);
  const at::Tensor kept = hard_pixels(seen, losses.detach());
  if (!seen.spec.weight.empty()) losses = losses * seen.class_weights().index({seen.known_labels()});
  return (losses * kept).mean() / (kept.mean() + kEpsilon);
}

at::Tensor dice(const Seen& seen) {
  const double smooth = seen.spec.smooth.value_or(seen.options.batch_dice ? 0 : 1);
  const at::Tensor counted = seen.counted().unsqueeze(1), truth = seen.one_hot() * counted,
                   probabilities = at::softmax(seen.logits, 1) * counted;
  const std::vector<std::int64_t> dims =
      seen.options.batch_dice ? std::vector<std::int64_t>{0, 2, 3} : std::vector<std::int64_t>{2, 3};
  const at::Tensor both = (probabilities * truth).sum(dims), all = (probabilities + truth).sum(dims);
  const double epsilon = seen.options.batch_dice ? 1e-5 : 1e-8;
  at::Tensor losses = 1 - (2 * both + smooth) / (all + smooth + epsilon);
  if (!seen.spec.weight.empty()) losses = losses * seen.class_weights();
  return losses.mean();
}

at::Tensor lovasz_softmax(const Seen& seen) {
  const at::Tensor flat = seen.labels.flatten();
  const at::Tensor places = at::nonzero(flat != kIgnored).squeeze(1);
  if (places.numel() == 0) return seen.logits.sum() * 0;  // nothing to learn, with gradients
  const at::Tensor labels = flat.index_select(0, places);
  const at::Tensor probabilities =
      at::softmax(seen.logits, 1).permute({0, 2, 3, 1}).reshape({-1, seen.classes()}).index_select(0, places);
  std::vector<at::Tensor> losses;
  for (std::int64_t c = 0; c < seen.classes(); ++c) {
    const at::Tensor truth = (labels == c).to(probabilities.scalar_type());
    if (seen.spec.classes == "present" && truth.sum().item<double>() == 0) continue;
    const auto [errors, order] = at::sort((truth - probabilities.select(1, c)).abs(), 0, /*descending=*/true);
    const at::Tensor sorted = truth.index_select(0, order), total = sorted.sum();
    at::Tensor jaccard = 1 - (total - sorted.cumsum(0)) / (total + (1 - sorted).cumsum(0));
    if (jaccard.numel() > 1)
      jaccard = at::cat({jaccard.slice(0, 0, 1), jaccard.slice(0, 1) - jaccard.slice(0, 0, -1)});
    losses.push_back((errors * jaccard).sum());
  }
  return at::stack(losses).mean();
}

// Nothing: it is that of the batch.
std::optional<double> positive_weight_of(const LossSpec& spec) {
  if (spec.pos_weight == "dynamic") return std::nullopt;
  double weight = 0;
  const char *begin = spec.pos_weight.data(), *end = begin + spec.pos_weight.size();
  const auto [stop, error] = std::from_chars(begin, end, weight);
  if (error != std::errc() || stop != end || !(weight > 0) || !std::isfinite(weight))
    fail("BCELoss: pos_weight is '{}', expected dynamic or a number above 0", printable(spec.pos_weight));
  return weight;
}

at::Tensor binary_cross_entropy(const Seen& seen) {
  constexpr double kEpsilon = 1e-10;
  const LossSpec& spec = seen.spec;
  const at::Tensor truth = seen.one_hot(), counted = seen.counted().unsqueeze(1);
  const auto all = static_cast<double>(truth.numel());
  const double positive = truth.sum(at::kDouble).item<double>();  // as PaddleSeg, with ignored pixels
  std::optional<at::Tensor> weight, positive_weight;
  if (!spec.balance.empty())
    weight = 2 * (all - positive) / (all + kEpsilon) * truth + 2 * positive / (all + kEpsilon) * (1 - truth);
  if (!spec.pos_weight.empty()) {
    const double of_batch = 2 * (all - positive) / (all + kEpsilon);
    positive_weight = at::full({}, positive_weight_of(spec).value_or(of_batch), seen.logits.options());
  }
  const at::Tensor losses =
      at::binary_cross_entropy_with_logits(seen.logits, truth, weight, positive_weight, at::Reduction::None);
  return (losses * counted).mean() / (counted.mean() + kEpsilon);
}

at::Tensor mixed(const Seen& seen) {
  at::Tensor sum;
  for (const LossSpec& part : seen.spec.losses) {
    const at::Tensor loss = segmentation_loss(part, seen.logits, seen.labels, seen.options) * part.coef;
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

struct Row {
  std::string_view type;
  at::Tensor (*compute)(const Seen& seen);
  bool reads_bfloat16 = false;  // the others are given floats
};
constexpr Row kLosses[] = {
    {"CrossEntropyLoss", cross_entropy, true},
    {"OhemCrossEntropyLoss", ohem_cross_entropy, true},
    {"DiceLoss", dice},
    {"LovaszSoftmaxLoss", lovasz_softmax},
    {"BCELoss", binary_cross_entropy},
    {"MixedLoss", mixed},
};

const Row& row_of(const LossSpec& spec) {
  for (const Row& row : kLosses)
    if (row.type == spec.type) return row;
  const std::string meant = nearest(spec.type, segmentation_losses());
  fail("there is no loss {}{}; there are {}", printable(spec.type),
       meant.empty() ? "" : fmt::format(", did you mean {}?", meant), fmt::join(segmentation_losses(), ", "));
}

}  // namespace

std::vector<std::string> segmentation_losses() {
  std::vector<std::string> names;
  for (const Row& row : kLosses) names.emplace_back(row.type);
  return names;
}

void check_loss(const LossSpec& spec, std::int64_t classes) {
  row_of(spec);
  if (!spec.weight.empty() && std::ssize(spec.weight) != classes)
    fail("{}: there are {} weights, and the network has {} classes", spec.type, spec.weight.size(), classes);
  if (!(spec.top_k_percent_pixels > 0 && spec.top_k_percent_pixels <= 1))
    fail("{}: top_k_percent_pixels is {}, expected a share above 0, at most 1", spec.type,
         spec.top_k_percent_pixels);
  if (spec.classes != "present" && spec.classes != "all")
    fail("{}: classes is '{}', expected present or all", spec.type, printable(spec.classes));
  if (!spec.balance.empty() && spec.balance != "dynamic")
    fail("{}: weight is '{}', expected dynamic", spec.type, printable(spec.balance));
  if (!spec.pos_weight.empty()) positive_weight_of(spec);
  if (spec.type != "MixedLoss") return;
  if (spec.losses.empty()) fail("MixedLoss has no losses");
  for (const LossSpec& part : spec.losses) check_loss(part, classes);
}

at::Tensor segmentation_loss(const LossSpec& spec, const at::Tensor& logits, const at::Tensor& labels,
                             const SegmentationLossOptions& options) {
  const Row& row = row_of(spec);
  const bool is_low = logits.scalar_type() == at::kBFloat16 && !row.reads_bfloat16;
  return row.compute({spec, is_low ? logits.to(at::kFloat) : logits, labels, options});
}

}  // namespace octet::train
