#pragma once
#include <string>

namespace octet::cli {

// Becomes octet-train, the program beside this one that has libtorch, which runs `command` with these
// options. Does not return unless it is not there.
int start_train(const std::string& command, const std::string& options);

}  // namespace octet::cli
