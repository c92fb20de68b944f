#pragma once
#include <string>

namespace octet::cli {

// Becomes octet-train, the program beside this one that has libtorch, which runs `command` with this recipe.
// Does not return unless it is not there.
int start_train(const std::string& command, const std::string& recipe);

// The same for the command that this program was given: it starts again where every model runs on `device`.
// Does not return; an Error in an octet that is built without CUDA.
[[noreturn]] void start_on_device(const std::string& device, const std::string& precision);

}  // namespace octet::cli
