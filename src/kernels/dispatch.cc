#include "kernels/dispatch.h"

#include "base/cpu.h"
#include "kernels/fast/fast.h"
#include "kernels/ref/ref.h"
#include "kernels/simd/simd.h"

namespace octet {

const std::vector<Isa>& isa_list() {
  static const std::vector<Isa> list = [] {
    std::vector<Isa> isas = {{"ref", true, nullptr}};
    for (const simd::Build& build : simd::builds()) {
      bool available = build.table != nullptr;
      for (std::string_view feature : build.features) available = available && cpu_info().has(feature);
      isas.push_back({build.name, available, available ? &build.table() : nullptr});
    }
    return isas;
  }();
  return list;
}

const Isa& choose_isa(std::string_view name) {
  const Isa* best = nullptr;
  std::string available;
  for (const Isa& isa : isa_list()) {
    if (!isa.available) continue;
    if (isa.name == name) return isa;
    best = &isa;
    available += (available.empty() ? "" : ", ") + std::string(isa.name);
  }
  if (name.empty()) return *best;
  fail("isa {}: not available here; use one of: {}", name, available);
}

const Implementation* find_implementation(const PrepareArgs& args) {
  if (args.simd)
    for (const Implementation& row : fast::implementations())
      if (row.op == args.node.op && (!row.fits || row.fits(args))) return &row;
  return ref::find(args.node.op);
}

}  // namespace octet
