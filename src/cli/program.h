#pragma once
#include <functional>
#include <string>
#include <vector>

namespace octet::cli {

// What every program of octet does first: signals, and standard streams that are closed.
void start_program();

// `octet WORDS...`: runs the command that they name and returns the exit code.
int run_program(std::vector<std::string> words);
// The words that run_program was given.
const std::vector<std::string>& command_line();

// The result of `work`; for what it throws one line to `report`, and 2 if the user can mend it, otherwise 1.
int exit_code_of(const std::function<int()>& work, const std::function<void(const std::string&)>& report);

}  // namespace octet::cli
