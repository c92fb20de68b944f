#include "kernels/dispatch.h"

#include "kernels/ref/ref.h"

namespace octet {

std::vector<Isa> isa_list() {
  return {{"ref", true}, {"avx2"}, {"avx512"}, {"avx512vnni"}, {"avxvnni"}, {"neon"}};
}

std::string_view choose_isa(std::string_view name) {
  std::string_view best;
  std::string available;
  for (const Isa& isa : isa_list()) {
    if (!isa.available) continue;
    if (isa.name == name) return isa.name;
    best = isa.name;
    available += (available.empty() ? "" : ", ") + std::string(isa.name);
  }
  if (name.empty()) return best;
  fail("isa {}: not available here; use one of: {}", name, available);
}

Kernel find_kernel(std::string_view op, std::string_view) {
  return ref::find(op);
}

}  // namespace octet
