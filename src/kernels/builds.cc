#include "kernels/simd/simd.h"

namespace octet::simd {

#define OCTET_DECLARE(isa) \
  namespace isa {          \
  const Simd& table();     \
  }
#if defined(__x86_64__)
OCTET_DECLARE(avx2)
OCTET_DECLARE(avx512)
OCTET_DECLARE(avx512vnni)
OCTET_DECLARE(avxvnni)
#elif defined(__aarch64__)
OCTET_DECLARE(neon)
#endif

const std::vector<Build>& builds() {
  static const std::vector<Build> list = [] {
    std::vector<Build> all = {
        {"avx2", {"avx2", "fma"}, nullptr},
        {"avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, nullptr},
        {"avx512vnni", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"}, nullptr},
        {"avxvnni", {"avx2", "fma", "avxvnni"}, nullptr},
        {"neon", {"neon"}, nullptr},
    };
#if defined(__x86_64__)
    all[0].table = avx2::table;
    all[1].table = avx512::table;
    all[2].table = avx512vnni::table;
    all[3].table = avxvnni::table;
#elif defined(__aarch64__)
    all[4].table = neon::table;
#endif
    return all;
  }();
  return list;
}

}  // namespace octet::simd
