#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace octet {

// An instruction set that the kernels are built for, chosen once when a model is prepared.
struct Isa {
  std::string_view name;             // what --isa takes
  bool available = false;            // built in, and this CPU has it
  const simd::Simd* simd = nullptr;  // its vector routines; null for "ref" and what is not available
};

// All of them, the plainest first. The last available one is the default.
const std::vector<Isa>& isa_list();

// "" is the default. An Error when there is no such implementation here; it lists those that there are.
const Isa& choose_isa(std::string_view name);

// The best way to run a node; null when no implementation has its op.
const Implementation* find_implementation(const PrepareArgs& args);

}  // namespace octet
