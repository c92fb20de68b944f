#pragma once
#include "tipc/config.h"

namespace octet::tipc {

// One command of the chain.
struct Step {
  std::string row;    // which row of the matrix it belongs to: norm_train_gpus_0; steps of a row run in order
  std::string stage;  // train, eval, export, quantize, infer
  int line = 0;       // of the config, where the command is
  std::string command;
  std::filesystem::path log;             // what it prints goes there
  bool shows_log = false;                // "> log 2>&1" belongs to the command, as reported
  bool appends = false;                  // an earlier step has the same log
  std::vector<std::string> environment;  // NAME=value
  std::filesystem::path folder;          // emptied before it runs, and there when it does; empty: none
  std::filesystem::path makes;           // a file, or how its name begins; empty: not checked
  int needs = -1;                        // the step that must have succeeded before
  std::string skip;                      // why it is not to be run; "": it is

  // The command as it is reported, with what sends its output to the log.
  std::string reported() const;
};

struct Plan {
  std::string model_name, mode;
  std::filesystem::path folder;  // ./log/MODEL/MODE
  std::vector<std::string> notices;
  std::vector<Step> steps;
};

// Every command of a config in a mode: devices x trainers x batch sizes x ..., each with the exports and
// inferences that follow it. Without a CUDA device training runs on the CPU, and inference on a GPU is
// skipped.
Plan make_plan(const Config& config, std::string_view mode, bool has_gpu);

}  // namespace octet::tipc
