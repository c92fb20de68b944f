#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// The implementations of the kernels that `--isa` and Config::set_isa choose from, slowest first.
struct Isa {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> needs;  // CPU features
  bool built;                           // this octet has kernels for it
};

std::span<const Isa> isa_table();
bool is_available(const Isa& isa);  // built, and the CPU has what it needs

// The name itself, or the best available one for "". An Error that lists the available ones for any other.
std::string_view resolve_isa(std::string_view name);

}  // namespace octet
