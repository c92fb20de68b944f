#pragma once
#include <cstdint>
#include <string>

namespace octet {

// Where long work says how it goes. Nothing below cli prints: programs hand in what does, cli/console.h, and
// tests what remembers. Called from one thread at a time.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void line(const std::string& text) = 0;     // a result
  virtual void notice(const std::string& text) = 0;   // what a person may want to know
  virtual void warning(const std::string& text) = 0;  // what a person would want to change

  // So many of `total` are done; with `done` equal to `total`, or when something else is said, its trace on
  // a terminal is wiped.
  virtual void progress(const std::string& what, std::int64_t done, std::int64_t total) = 0;
};

}  // namespace octet
