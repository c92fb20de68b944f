#include "kernels/simd/simd.h"

namespace octet::simd {

// Those that cmake/simd.cmake builds. Each has a namespace of its own, and its table a name in it.
#define OCTET_TABLE(isa) \
  namespace isa {        \
  const Simd& table();   \
  }                      \
  constexpr const Simd& (*isa##_table)() = isa::table;
#define OCTET_NO_TABLE(isa) constexpr const Simd& (*isa##_table)() = nullptr;

#ifdef OCTET_HAS_avx2
OCTET_TABLE(avx2)
#else
OCTET_NO_TABLE(avx2)
#endif
#ifdef OCTET_HAS_avx512
OCTET_TABLE(avx512)
#else
OCTET_NO_TABLE(avx512)
#endif
#ifdef OCTET_HAS_avx512vnni
OCTET_TABLE(avx512vnni)
#else
OCTET_NO_TABLE(avx512vnni)
#endif
#ifdef OCTET_HAS_avxvnni
OCTET_TABLE(avxvnni)
#else
OCTET_NO_TABLE(avxvnni)
#endif
#ifdef OCTET_HAS_neon
OCTET_TABLE(neon)
#else
OCTET_NO_TABLE(neon)
#endif

const std::vector<Build>& builds() {
  static const std::vector<Build> list = {
      {"avx2", {"avx2", "fma"}, avx2_table},
      {"avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, avx512_table},
      {"avx512vnni", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"}, avx512vnni_table},
      {"avxvnni", {"avx2", "fma", "avxvnni"}, avxvnni_table},
      {"neon", {"neon"}, neon_table},
  };
  return list;
}

}  // namespace octet::simd
