#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "cli/args.h"

namespace octet::cli {

// Declares a command's flags on `args` and returns what to do once they are parsed; that returns the exit
// code.
using Declare = std::function<int()> (*)(Args& args);

struct Command {
  std::string_view name;
  std::string_view summary;
  Declare declare;
};

// Every command, in the order of `octet --help`.
std::span<const Command> commands();

std::function<int()> declare_info(Args& args);
std::function<int()> declare_run(Args& args);
std::function<int()> declare_infer(Args& args);
std::function<int()> declare_eval(Args& args);
std::function<int()> declare_ptq(Args& args);
std::function<int()> declare_export(Args& args);
std::function<int()> declare_convert(Args& args);
std::function<int()> declare_bench(Args& args);
std::function<int()> declare_compare(Args& args);
std::function<int()> declare_train(Args& args);
std::function<int()> declare_qat(Args& args);
std::function<int()> declare_data(Args& args);
std::function<int()> declare_tipc(Args& args);
std::function<int()> declare_launch(Args& args);
std::function<int()> declare_completion(Args& args);

}  // namespace octet::cli
