#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "octet/predictor.h"

namespace octet::cli {

// Makes the tables of ops, formats and transforms. To be called before main(): later they are made when they
// are needed, and where there is no memory for that, GCC 12 destroys rows that it has not made yet.
bool make_tables();

// What every program of octet does first: signals, and standard streams that are closed.
void start_program();

// `octet WORDS...`: runs the command that they name and returns the exit code.
int run_program(std::vector<std::string> words, std::shared_ptr<const Device> device = nullptr);
// What run_program was given: the words, and where models run (null: on this CPU).
const std::vector<std::string>& command_line();
const std::shared_ptr<const Device>& program_device();

// The result of `work`; for what it throws one line to `report`, and 2 if the user can mend it, otherwise 1.
int exit_code_of(const std::function<int()>& work, const std::function<void(const std::string&)>& report);

}  // namespace octet::cli
