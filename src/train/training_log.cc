#include "train/training_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/transforms/normalize.h"

namespace octet::train {

TrainingLog::TrainingLog(const TrainOptions& options, const Task& task, Comm& comm, Reporter& reporter)
    : options_(options), comm_(comm), reporter_(reporter), task_(task), metric_(task.metric({})) {}

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
  if (comm_.rank() == 0) reporter_.line(line);
}

void TrainingLog::start_anew() {
  sums_ = {};
  metric_ = task_.metric({});
  steps_ = 0;
}

void TrainingLog::add(const Step& step) {
  sums_.loss += step.loss;
  sums_.samples += step.samples;
  sums_.reader_seconds += step.reader_seconds;
  sums_.seconds += step.seconds;
  ++steps_;
}

void TrainingLog::add(const Tensor& output, const Batch& batch) {
  metric_->update(output, batch);
}

void TrainingLog::print(const Place& place, double learning_rate) {
  double sums[] = {sums_.loss, static_cast<double>(sums_.samples)};
  if (comm_.size() > 1) {
    comm_.all_reduce(std::span<double>(sums));
    comm_.all_reduce(metric_->sums());
  }
  const double n = sums[1], steps = static_cast<double>(steps_);
  const double loss = sums[0] / n, speed = n / sums_.seconds;
  const std::vector<MetricRow> rows = metric_->rows();
  std::string results;
  for (const MetricRow& row : rows) results += fmt::format("{}: {:.5f}, ", row.tag, row.value);
  say(
      fmt::format("[Epoch {}, iter: {}] {}lr: {:.5f}, loss: {:.5f}, "
                  "avg_reader_cost: {:.5f} sec, avg_batch_cost: {:.5f} sec, avg_samples: {}, avg_ips: {:.5f} "
                  "images/sec.",
                  place.epoch, place.iteration, results, learning_rate, loss, sums_.reader_seconds / steps,
                  sums_.seconds / steps, n / steps, speed));
  start_anew();
  add_scalar("train/loss", place.number, loss);
  for (const MetricRow& row : rows) add_scalar(fmt::format("train/{}", row.tag), place.number, row.value);
  add_scalar("train/lr", place.number, learning_rate);
  add_scalar("train/images_per_second", place.number, speed);
}

void TrainingLog::evaluated(const Evaluation& evaluation, std::int64_t epoch) {
  const std::vector<MetricRow> rows = evaluation.metric->rows();
  std::string line = " *";
  for (const MetricRow& row : rows) line += fmt::format(" {} {:.4f}", row.title, row.value);
  say(line + fmt::format(" loss {:.4f}", evaluation.loss));
  for (const MetricRow& row : rows) add_scalar(fmt::format("eval/{}", row.tag), epoch, row.value);
  add_scalar("eval/loss", epoch, evaluation.loss);
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
  if (!curves_) return;
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
