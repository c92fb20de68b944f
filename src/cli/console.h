#pragma once
#include <optional>

#include "base/progress.h"
#include "base/reporter.h"

namespace octet::cli {

// Lines on stdout, the rest on stderr.
class Console : public Reporter {
 public:
  void line(const std::string& text) override;
  void notice(const std::string& text) override;
  void warning(const std::string& text) override;
  void progress(const std::string& what, std::int64_t done, std::int64_t total) override;

 private:
  std::string what_;
  std::optional<Progress> progress_;
};

}  // namespace octet::cli
