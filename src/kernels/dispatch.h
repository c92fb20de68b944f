#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace octet {

// An implementation of the kernels, chosen once when a model is prepared.
struct Isa {
  std::string_view name;   // what --isa takes
  bool available = false;  // built in, and this CPU has it
};

// All names, the plainest first. The last available one is the default.
std::vector<Isa> isa_list();

// "" is the default. An Error when there is no such implementation here; it lists those that there are.
std::string_view choose_isa(std::string_view name);

// The kernel of an op; null when no implementation has it.
Kernel find_kernel(std::string_view op, std::string_view isa);

}  // namespace octet
