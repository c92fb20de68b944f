#include "train/segmentation_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace octet::train {

namespace {

// "0.9941", "0.5" or "1.": NumPy leaves out zeros at the end.
std::string short_number(double number) {
  std::string text = fmt::format("{:.4f}", number);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

std::string log_prefix(PaddleSeg version, std::time_t now) {
  std::tm local{};
  ::localtime_r(&now, &local);
  return version == PaddleSeg::k2_9 ? fmt::format("[{:%Y/%m/%d %H:%M:%S}] INFO: ", local)
                                    : fmt::format("{:%Y-%m-%d %H:%M:%S} [INFO]\t", local);
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
  return fmt::format("{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string step_line(const StepLine& line) {
  const double left = static_cast<double>(line.iterations - line.iteration) * line.batch_cost;
  return fmt::format(
      "[TRAIN] epoch: {}, iter: {}/{}, loss: {:.4f}, lr: {:.6f}, batch_cost: {:.4f}, reader_cost: {:.5f}, "
      "ips: {:.4f} samples/sec | ETA {}",
      line.epoch, line.iteration, line.iterations, line.loss, line.learning_rate, line.batch_cost,
      line.reader_cost, line.samples_per_second, duration(left));
}

std::string start_line(std::int64_t pictures) {
  return fmt::format("Start evaluating (total_samples: {0}, total_iters: {0})...", pictures);
}

std::vector<std::string> evaluation_lines(const SegmentationScores& scores, std::int64_t pictures,
                                          PaddleSeg version) {
  const bool is_new = version == PaddleSeg::k2_9;
  std::vector<std::string> lines = {fmt::format("[EVAL] #Images: {} mIoU: {:.4f} Acc: {:.4f} Kappa: {:.4f} ",
                                                pictures, scores.mean_iou, scores.accuracy, scores.kappa)};
  if (is_new) lines[0] += fmt::format("Dice: {:.4f}", scores.mean_dice);
  const auto add = [&](const char* what, const std::vector<double>& numbers) {
    lines.push_back(fmt::format("[EVAL] {}: \n{}", what, number_list(numbers)));
  };
  add("Class IoU", scores.iou);
  add(is_new ? "Class Precision" : "Class Acc", scores.precision);
  if (is_new) add("Class Recall", scores.recall);
  return lines;
}

std::string best_line(double mean_iou, std::int64_t iteration) {
  return fmt::format("[EVAL] The model with the best validation mIoU ({:.4f}) was saved at iter {}.",
                     mean_iou, iteration);
}

std::string number_list(std::span<const double> numbers) {
  constexpr std::size_t kLineWidth = 74;  // NumPy's 75, with room for the bracket
  std::size_t width = 0;
  for (double number : numbers) width = std::max(width, short_number(number).size());
  std::string text = "[";
  std::size_t used = 1;  // of the line
  for (double number : numbers) {
    std::string word = short_number(number);
    word.resize(width, ' ');
    const bool is_first = used == 1;
    if (!is_first && used + 1 + width > kLineWidth) {
      text += "\n ";
      used = 1;
    } else if (!is_first) {
      text += ' ';
      ++used;
    }
    text += word;
    used += width;
  }
  return text + ']';
}

}  // namespace octet::train
