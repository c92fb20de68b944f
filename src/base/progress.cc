#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace octet {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

Progress::Progress(std::string what, std::int64_t total)
    : Progress(std::move(what), total, Output{.terminal = ::isatty(STDERR_FILENO) == 1}) {}

Progress::Progress(std::string what, std::int64_t total, Output output)
    : what_(std::move(what)), total_(total), output_(std::move(output)) {
  start_ = shown_ = output_.now();
}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", output_.file);
  std::fflush(output_.file);
  drawn_ = false;
}

void Progress::update(std::int64_t done) {
  Clock::time_point now = output_.now();
  if (now - shown_ < (output_.terminal ? milliseconds(100) : milliseconds(5000)) || total_ <= 0) return;
  shown_ = now;
  double share = static_cast<double>(done) / static_cast<double>(total_);
  std::string line = fmt::format("{}: {} of {} ({:.0f} %)", what_, done, total_, 100 * share);
  if (done > 0 && done < total_) {
    double spent = duration<double>(now - start_).count();
    line += ", " + format_duration(seconds(static_cast<std::int64_t>(spent / share - spent + 0.5))) + " left";
  }
  line = output_.terminal ? "\r" + line + "\x1b[K" : line + "\n";
  std::fputs(line.c_str(), output_.file);
  std::fflush(output_.file);
  drawn_ = output_.terminal;
}

std::string format_duration(seconds duration) {
  std::int64_t s = duration.count();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

}  // namespace octet
