#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace octet {

struct CpuFeature {
  std::string_view name;
  bool present;  // by the CPU and by the operating system, which must save the wide registers
};

struct CpuInfo {
  std::string model;  // "AMD EPYC 9754 128-Core Processor"; "unknown" when the system doesn't say
  std::vector<CpuFeature> features;

  bool has(std::string_view feature) const;
};

// This machine's. Detected once.
const CpuInfo& cpu_info();

}  // namespace octet
