#pragma once
#include <string>
#include <vector>

namespace octet::attack {

struct Limits {
  int cpu_seconds = 0;  // 0: none
  int wall_seconds = 60;
};

struct Outcome {
  int exit_code = 0;  // 128 + the signal's number when one ended it
  std::string said;   // on stderr
  double cpu_seconds = 0;
  long peak_kilobytes = 0;
};

// `octet WORDS...` in a process of its own: the program's code without the time that starting it takes.
Outcome run_in_child(const std::vector<std::string>& words, const Limits& limits);

// What is wrong with the way in which it ended: a user's mistake, or a success, is all that a file may cause.
// Empty: nothing.
std::string complaint(const Outcome& outcome, double cpu_limit, long kilobyte_limit);

}  // namespace octet::attack
