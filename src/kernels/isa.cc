#include "kernels/isa.h"

#include "base/cpu.h"
#include "base/error.h"

namespace octet {

std::span<const Isa> isa_table() {
  static const std::vector<Isa> kTable = {
      {"ref", "plain C++, the specification of all others", {}, true},
      {"neon", "ARM NEON", {"neon"}, false},
      {"avx2", "256 bits wide", {"avx2", "fma"}, false},
      {"avxvnni", "256 bits wide, 8-bit dot products", {"avx2", "fma", "avxvnni"}, false},
      {"avx512", "512 bits wide", {"avx512f", "avx512bw", "avx512vl"}, false},
      {"avx512vnni",
       "512 bits wide, 8-bit dot products",
       {"avx512f", "avx512bw", "avx512vl", "avx512vnni"},
       false},
  };
  return kTable;
}

bool is_available(const Isa& isa) {
  if (!isa.built) return false;
  for (std::string_view feature : isa.needs)
    if (!cpu_info().has(feature)) return false;
  return true;
}

std::string_view resolve_isa(std::string_view name) {
  std::vector<std::string_view> available;
  bool known = false;
  for (const Isa& isa : isa_table()) {
    if (is_available(isa)) available.push_back(isa.name);
    known = known || isa.name == name;
  }
  if (name.empty()) return available.back();
  for (std::string_view candidate : available)
    if (candidate == name) return candidate;
  fail("isa {}: {}; available here: {}", name,
       known ? "this octet or this CPU doesn't have it" : "there is no such instruction set",
       fmt::join(available, ", "));
}

}  // namespace octet
