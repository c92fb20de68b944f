#include "train/training_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/transforms/normalize.h"
#include "tasks/segmentation.h"
#include "train/run_folder.h"
#include "train/segmentation_log.h"

namespace octet::train {

TrainingLog::TrainingLog(const TrainOptions& options, const Task& task, Comm& comm, Reporter& reporter)
    : options_(options),
      comm_(comm),
      reporter_(reporter),
      task_(task),
      by_iterations_(goes_by_iterations(options)),
      counts_answers_(task.loss == Loss::kCrossEntropy),
      metric_(task.metric({})) {}

void TrainingLog::start_curves() {
  if (options_.use_vdl && comm_.rank() == 0)
    curves_ = std::make_unique<VisualDLWriter>(options_.output_dir, options_.resume.empty()
                                                                        ? VisualDLWriter::Mode::kNew
                                                                        : VisualDLWriter::Mode::kContinue);
  if (options_.use_tensorboard && comm_.rank() == 0)
    events_ = std::make_unique<TensorBoardWriter>(options_.output_dir);
}

void TrainingLog::add_scalar(const std::string& tag, std::int64_t step, double value) {
  if (curves_) curves_->add_scalar(tag, step, value);
  if (events_) events_->add_scalar(tag, step, value);
}

void TrainingLog::say(const std::string& line) const {
  if (comm_.rank() != 0) return;
  reporter_.line(by_iterations_ ? log_prefix(options_.paddleseg, std::time(nullptr)) + line : line);
}

void TrainingLog::start_anew() {
  sums_ = {};
  metric_ = task_.metric({});
  steps_ = 0;
}

void TrainingLog::add(const Step& step) {
  sums_.losses.resize(step.losses.size());
  for (std::size_t i = 0; i < step.losses.size(); ++i)
    sums_.losses[i] += step.losses[i] * static_cast<double>(step.samples);
  sums_.samples += step.samples;
  sums_.reader_seconds += step.reader_seconds;
  sums_.seconds += step.seconds;
  ++steps_;
}

void TrainingLog::add(const Tensor& output, const Batch& batch) {
  metric_->update(output, batch);
}

bool TrainingLog::is_due(const Place& place) const {
  return (by_iterations_ ? place.number + 1 : place.iteration) % options_.print_freq == 0;
}

void TrainingLog::print(const Place& place, double learning_rate) {
  std::vector<double> sums = sums_.losses;
  sums.push_back(static_cast<double>(sums_.samples));
  if (comm_.size() > 1) {
    comm_.all_reduce(std::span<double>(sums));
    if (counts_answers_) comm_.all_reduce(metric_->sums());
  }
  const double samples = sums.back();
  sums.pop_back();
  for (double& loss : sums) loss /= samples;
  if (by_iterations_)
    print_iteration(place, learning_rate, sums, samples);
  else
    print_step(place, learning_rate, sums, samples);
  start_anew();
}

void TrainingLog::print_step(const Place& place, double learning_rate, const std::vector<double>& losses,
                             double samples) {
  const double steps = static_cast<double>(steps_), speed = samples / sums_.seconds,
               loss = std::accumulate(losses.begin(), losses.end(), 0.0);
  std::vector<MetricRow> rows;
  if (counts_answers_) rows = metric_->rows();
  std::string results;
  for (const MetricRow& row : rows) results += fmt::format("{}: {:.5f}, ", row.tag, row.value);
  say(
      fmt::format("[Epoch {}, iter: {}] {}lr: {:.5f}, loss: {:.5f}, "
                  "avg_reader_cost: {:.5f} sec, avg_batch_cost: {:.5f} sec, avg_samples: {}, avg_ips: {:.5f} "
                  "images/sec.",
                  place.epoch, place.iteration, results, learning_rate, loss, sums_.reader_seconds / steps,
                  sums_.seconds / steps, samples / steps, speed));
  add_scalar("train/loss", place.number, loss);
  for (const MetricRow& row : rows) add_scalar(fmt::format("train/{}", row.tag), place.number, row.value);
  add_scalar("train/lr", place.number, learning_rate);
  add_scalar("train/images_per_second", place.number, speed);
}

void TrainingLog::print_iteration(const Place& place, double learning_rate, const std::vector<double>& losses,
                                  double samples) {
  const auto steps = static_cast<double>(steps_);
  const StepLine line{.epoch = place.epoch + 1,
                      .iteration = place.number + 1,
                      .iterations = place.total,
                      .loss = std::accumulate(losses.begin(), losses.end(), 0.0),
                      .learning_rate = learning_rate,
                      .batch_cost = sums_.seconds / steps,
                      .reader_cost = sums_.reader_seconds / steps,
                      .samples_per_second = samples / sums_.seconds};
  say(step_line(line));
  add_scalar("Train/loss", line.iteration, line.loss);
  for (std::size_t i = 0; losses.size() > 1 && i < losses.size(); ++i)
    add_scalar(fmt::format("Train/loss_{}", i), line.iteration, losses[i]);
  add_scalar("Train/lr", line.iteration, learning_rate);
  add_scalar("Train/batch_cost", line.iteration, line.batch_cost);
  add_scalar("Train/reader_cost", line.iteration, line.reader_cost);
}

void TrainingLog::evaluating(std::int64_t pictures) const {
  if (by_iterations_) say(start_line(pictures));
}

void TrainingLog::evaluated(const Evaluation& evaluation, std::int64_t at) {
  const std::vector<MetricRow> rows = evaluation.metric->rows();
  if (by_iterations_) {
    const auto& metric = dynamic_cast<const SegmentationMetric&>(*evaluation.metric);
    for (const std::string& line : evaluation_lines(metric.scores(), evaluation.pictures, options_.paddleseg))
      say(line);
    for (const MetricRow& row : rows)
      if (row.key == "miou" || row.key == "acc")
        add_scalar(fmt::format("Evaluate/{}", row.tag), at, row.value);
    return;
  }
  std::string line = " *";
  for (const MetricRow& row : rows) line += fmt::format(" {} {:.4f}", row.title, row.value);
  say(line + (evaluation.loss ? fmt::format(" loss {:.4f}", *evaluation.loss) : ""));
  for (const MetricRow& row : rows) add_scalar(fmt::format("eval/{}", row.tag), at, row.value);
  if (evaluation.loss) add_scalar("eval/loss", at, *evaluation.loss);
  const std::int64_t only = evaluation.confusion.only_answer();
  if (only < 0 || comm_.rank() != 0) return;
  const auto name =
      only < std::ssize(class_names) ? class_names[static_cast<std::size_t>(only)] : std::to_string(only);
  reporter_.warning(fmt::format(
      "the network takes every picture that it is evaluated on for class {}, and they are of several", name));
}

void TrainingLog::per_class(const Confusion& confusion, const std::string& title, std::int64_t worst) {
  std::string table = per_class_table(confusion, class_names, worst);
  table.pop_back();  // the end of the line
  say(title + "\n" + table);
}

void TrainingLog::pictures(const Batch& batch, std::int64_t epoch) {
  if (!curves_ || !counts_answers_) return;
  constexpr std::int64_t kPictures = 4;
  if (batch.pixels.dim(1) != Image::kChannels) return;
  const int size = options_.img_size;
  const Normalize& colors = *find<Normalize>(options_.train_transforms);
  const auto plane = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  for (std::int64_t i = 0; i < std::min(kPictures, batch.pixels.dim(0)); ++i) {
    auto planes = batch.pixels.data<float>().subspan(static_cast<std::size_t>(i) * 3 * plane, 3 * plane);
    Image image(size, size);
    for (std::size_t p = 0; p < 3 * plane; ++p) {
      const std::size_t c = p / plane;
      const float value = planes[p] * colors.std[c] + colors.mean[c];
      image.pixels[p % plane * 3 + c] =
          static_cast<std::uint8_t>(std::clamp(value * 255 + 0.5f, 0.0f, 255.0f));
    }
    curves_->add_image(fmt::format("train/input_{}", i), epoch, image);
  }
}

}  // namespace octet::train
