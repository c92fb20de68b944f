#include "cli/console.h"

#include "cli/output.h"

namespace octet::cli {

// A run of hours is not ended because nobody reads its log any more: errors of stdout are passed over.
void Console::line(const std::string& text) {
  if (progress_) progress_->clear();
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void Console::notice(const std::string& text) {
  if (progress_) progress_->clear();
  fmt::print(stderr, "octet: notice: {}\n", printable(text));
}

void Console::warning(const std::string& text) {
  if (progress_) progress_->clear();
  print_warning(text);
}

void Console::progress(const std::string& what, std::int64_t done, std::int64_t total) {
  if (!progress_ || what != what_) progress_.emplace(what_ = what, total);
  progress_->update(done);
  if (done >= total) progress_.reset();
}

}  // namespace octet::cli
