#include "cli/eval_segmentation.h"

#include <cmath>
#include <ctime>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/progress.h"
#include "cli/model_runner.h"
#include "cli/output.h"
#include "cli/segmentation_model.h"
#include "cli/stopwatch.h"
#include "cli/tensors.h"
#include "data/loader.h"
#include "tasks/boundary.h"
#include "tasks/segmentation.h"
#include "train/segmentation_log.h"

namespace octet::cli {

namespace {

Mask truth_of(const Batch& batch) {
  Mask mask(static_cast<int>(batch.masks.dim(2)), static_cast<int>(batch.masks.dim(1)));
  std::ranges::copy(batch.masks.data<std::uint8_t>(), mask.pixels.begin());
  return mask;
}

// A model, what it answered so far and how long that took.
struct Subject {
  Subject(const ModelFlags& flags, const train::TrainOptions& config, const Config& runtime,
          const MetricOptions& metric_options, ThreadPool& pool)
      : runner(flags.path, load_scoring_model(config, flags), runtime, pool),
        disk_bytes(bytes_on_disk(flags)),
        metric(metric_options) {}

  double ms() const { return time.ms() / static_cast<double>(std::max<std::int64_t>(pictures, 1)); }

  ModelRunner runner;
  std::uint64_t disk_bytes;
  Stopwatch time;  // of the runs alone
  std::int64_t pictures = 0;
  SegmentationMetric metric;
  PixelAgreement agreement;  // with the first model
};

class Evaluation {
 public:
  explicit Evaluation(const SegmentationEvaluation& options)
      : options_(options),
        segment_(segment_options(options.segment, options.config.test)),
        runtime_(make_config(options.runtime)),
        pool_(runtime_.cpu_math_library_num_threads()) {
    const bool is_new = options.config.paddleseg == train::PaddleSeg::k2_9;
    summands_ = is_new ? Summands::kScores : Summands::kProbabilities;
    const MetricOptions metric{.classes = options.config.num_classes, .absent_iou = is_new ? 1.0 : 0.0};
    if (has_baseline()) subjects_.emplace_back(options.baseline, options.config, runtime_, metric, pool_);
    subjects_.emplace_back(options.model, options.config, runtime_, metric, pool_);
  }

  int run() {
    Dataset dataset = open_masks(options_.config.val_masks);
    for (const std::string& note : dataset.notes) print_warning(note);
    if (!dataset.has_masks())
      fail("{}: the pictures of val_dataset have no masks to hold the answers against",
           options_.config.val_masks.root);
    if (options_.pictures)
      dataset.entries.resize(std::min(dataset.entries.size(), static_cast<std::size_t>(*options_.pictures)));
    const std::int64_t count = std::ssize(dataset.entries);
    log(train::start_line(count));
    flush_output();
    Loader loader(std::move(dataset), options_.config.val_transforms,
                  {.batch_size = 1, .workers = pool_.threads(), .keep_masks = true});
    Progress progress("pictures", count);
    while (const std::optional<Batch> batch = loader.next()) {
      progress.clear();
      for (const std::string& message : batch->broken) print_warning(message + "; skipped");
      broken_ += std::ssize(batch->broken);
      if (batch->size() > 0) evaluate(*batch);
      progress.update(model().pictures + broken_);
    }
    progress.clear();
    if (broken_ > 0)
      print_warning(fmt::format("{} of {} pictures can't be read and {} left out", broken_, count,
                                broken_ == 1 ? "was" : "were"));
    for (const std::string& line :
         train::evaluation_lines(model().metric.scores(), model().pictures, options_.config.paddleseg))
      log(line);
    if (has_baseline()) print_tables();
    if (!options_.json.empty()) write_json();
    return 0;
  }

 private:
  bool has_baseline() const { return !options_.baseline.path.empty(); }
  const Subject& model() const { return subjects_.back(); }
  void log(const std::string& line) const {
    say("{}{}\n", train::log_prefix(options_.config.paddleseg, std::time(nullptr)), line);
  }

  // The models take turns on each picture, so that whatever else the machine does hits both.
  void evaluate(const Batch& batch) {
    const Mask truth = truth_of(batch);
    std::optional<Mask> first;
    for (Subject& subject : subjects_) {
      const SegmentationModel model = [&](const Tensor& pixels) {
        if (subject.pictures == 0) subject.runner.run({pixels});  // memory is planned in the first run
        subject.time.start();
        Tensor output = subject.runner.run({pixels}).at(0);
        subject.time.stop();
        check_output(subject, output);
        return output;
      };
      Mask found = classes_of(segment(model, batch.pixels, segment_, summands_), batch.changes);
      if (found.width != truth.width || found.height != truth.height)
        fail("{}: the answer is {} x {} pixels, and the mask {} x {}", subject.runner.path(), found.width,
             found.height, truth.width, truth.height);
      ++subject.pictures;
      subject.metric.add(found, truth);
      if (!first)
        first = std::move(found);
      else
        subject.agreement.add(*first, found);
    }
  }

  void check_output(const Subject& subject, const Tensor& output) const {
    if (!is_segmentation(output, 1))
      fail("{}: the first output is {}, not scores or a class for each pixel", subject.runner.path(),
           describe(output.dtype(), output.shape()));
    if (output.dtype() == DType::kFloat32 && output.dim(1) != options_.config.num_classes)
      fail("{} has {} classes, and the config {}", subject.runner.path(), output.dim(1),
           options_.config.num_classes);
  }

  void print_tables() const {
    say("\n| model | precision | mIoU | Acc | agreement | near boundaries | size on disk | ms/image | peak "
        "memory |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const Subject& subject : subjects_) {
      const SegmentationScores scores = subject.metric.scores();
      const bool is_first = &subject == &subjects_.front();
      say("| {} | {} | {:.4f} | {:.4f} | {} | {} | {} | {:.3f} | {} |\n", printable(subject.runner.path()),
          subject.runner.precision(), scores.mean_iou, scores.accuracy,
          is_first ? "-" : share(subject.agreement.share()),
          is_first ? "-" : share(subject.agreement.share_near()), format_bytes(subject.disk_bytes),
          subject.ms(), format_bytes(subject.runner.peak_bytes()));
    }
    const SegmentationScores before = subjects_.front().metric.scores(), after = model().metric.scores();
    say("\n| class | IoU of the baseline | IoU | change |\n|---|--:|--:|--:|\n");
    for (std::size_t c = 0; c < after.iou.size(); ++c)
      say("| {} | {:.4f} | {:.4f} | {:+.4f} |\n", c, before.iou[c], after.iou[c],
          after.iou[c] - before.iou[c]);
    say("| mean | {:.4f} | {:.4f} | {:+.4f} |\n", before.mean_iou, after.mean_iou,
        after.mean_iou - before.mean_iou);
  }

  static std::string share(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }

  void write_json() const {
    using Json = nlohmann::ordered_json;
    const auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
    Json models = Json::array();
    for (const Subject& subject : subjects_) {
      const SegmentationScores scores = subject.metric.scores();
      Json json = {{"model", subject.runner.path()}, {"precision", subject.runner.precision()},
                   {"miou", scores.mean_iou},        {"acc", scores.accuracy},
                   {"kappa", finite(scores.kappa)},  {"dice", scores.mean_dice},
                   {"class_iou", scores.iou},        {"class_precision", scores.precision},
                   {"class_recall", scores.recall},  {"disk_bytes", subject.disk_bytes},
                   {"ms_per_image", subject.ms()},   {"peak_bytes", subject.runner.peak_bytes()}};
      if (&subject != &subjects_.front()) {
        json["agreement"] = finite(subject.agreement.share());
        json["agreement_near_boundaries"] = finite(subject.agreement.share_near());
      }
      models.push_back(std::move(json));
    }
    const Json json = {{"data", options_.config.val_masks.root},
                       {"images", model().pictures},
                       {"broken", broken_},
                       {"threads", pool_.threads()},
                       {"isa", runtime_.isa()},
                       {"models", models}};
    save_file(options_.json, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const SegmentationEvaluation& options_;
  const SegmentOptions segment_;
  const Config runtime_;
  ThreadPool pool_;
  Summands summands_;
  std::deque<Subject> subjects_;  // the baseline, if any, and the model
  std::int64_t broken_ = 0;
};

}  // namespace

int evaluate_segmentation(const SegmentationEvaluation& options) {
  return Evaluation(options).run();
}

}  // namespace octet::cli
