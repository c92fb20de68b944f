#pragma once
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "metrics/class_areas.h"
#include "train/options.h"

// The lines that a run with PaddleSeg's layout prints, in PaddleSeg's words, which people's scripts read. No
// libtorch here: `octet eval` prints them, too.
namespace octet::train {

// "2021-07-29 16:41:31 [INFO]<TAB>" or "[2024/05/15 20:38:22] INFO: ", in local time.
std::string log_prefix(PaddleSeg version, std::time_t now);

// Behind some steps of training; losses and costs are means over them.
struct StepLine {
  std::int64_t epoch = 0;      // from 1 on
  std::int64_t iteration = 0;  // the last one that is done, from 1 on
  std::int64_t iterations = 0;
  double loss = 0, learning_rate = 0;
  double batch_cost = 0, reader_cost = 0;  // seconds
  double samples_per_second = 0;
};
std::string step_line(const StepLine& line);

std::string start_line(std::int64_t pictures);
// What came of an evaluation: the lines are to be printed one by one, each behind a prefix.
std::vector<std::string> evaluation_lines(const SegmentationScores& scores, std::int64_t pictures,
                                          PaddleSeg version);
std::string best_line(double mean_iou, std::int64_t iteration);

// "03:25:07"; hours may be more than two digits.
std::string duration(double seconds);

// Numbers from 0 to 1, rounded to four digits, as NumPy prints an array of them: "[0.9941 0.7112]".
std::string number_list(std::span<const double> numbers);

}  // namespace octet::train
