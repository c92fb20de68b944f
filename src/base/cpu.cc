#include "base/cpu.h"

#include <fstream>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace octet {

namespace {

std::string read_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    std::size_t at = line.find(": ");
    if (at != std::string::npos) return line.substr(at + 2);
  }
  return "unknown";
}

#if defined(__x86_64__)

// AVX-VNNI is bit 4 of EAX in leaf 7, sub-leaf 1 (Intel's manual, CPUID); clang 14's builtin doesn't know it.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_supports("avx2") || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && ((a >> 4) & 1);
}

std::vector<CpuFeature> detect_features() {
  __builtin_cpu_init();
  return {{"avx2", __builtin_cpu_supports("avx2") != 0},
          {"fma", __builtin_cpu_supports("fma") != 0},
          {"avx512f", __builtin_cpu_supports("avx512f") != 0},
          {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
          {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
          {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
          {"avx512vbmi", __builtin_cpu_supports("avx512vbmi") != 0},
          {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
          {"avxvnni", has_avx_vnni()}};
}

#elif defined(__aarch64__)

std::vector<CpuFeature> detect_features() {
  unsigned long caps = ::getauxval(AT_HWCAP);
  constexpr unsigned long kAsimd = 1UL << 1, kDotProduct = 1UL << 20;
  return {{"neon", (caps & kAsimd) != 0}, {"dotprod", (caps & kDotProduct) != 0}};
}

#else

std::vector<CpuFeature> detect_features() {
  return {};
}

#endif

}  // namespace

bool CpuInfo::has(std::string_view feature) const {
  for (const CpuFeature& f : features)
    if (f.name == feature) return f.present;
  return false;
}

const CpuInfo& cpu_info() {
  static const CpuInfo kInfo{read_model_name(), detect_features()};
  return kInfo;
}

}  // namespace octet
