#include "kernels/simd/simd.h"

namespace octet::simd {

// The rows of cmake/simd.cmake: what each is called and needs of the CPU, and whether it is part of this
// program. Each has a namespace of its own, and its table a name in it.
#define OCTET_NOT_BUILT(isa, ...)
#define OCTET_BUILT(isa, ...) \
  namespace isa {             \
  const Simd& table();        \
  }
#include "kernels/isa_rows.inc"
#undef OCTET_BUILT
#undef OCTET_NOT_BUILT

#define OCTET_BUILT(isa, ...) {#isa, {__VA_ARGS__}, isa::table},
#define OCTET_NOT_BUILT(isa, ...) {#isa, {__VA_ARGS__}, nullptr},
const std::vector<Build>& builds() {
  static const std::vector<Build> list = {
#include "kernels/isa_rows.inc"
  };
  return list;
}

}  // namespace octet::simd
