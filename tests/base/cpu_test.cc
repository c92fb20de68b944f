#include "base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace octet {
namespace {

// The kernel's list is an independent source; the names are the same but for avx512vnni and avxvnni.
TEST(Cpu, FeaturesAreTheOnesTheKernelLists) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) continue;
  if (line.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  std::istringstream words(line);
  std::vector<std::string> flags(std::istream_iterator<std::string>(words), {});
  for (const CpuFeature& feature : cpu_info().features) {
    std::string name(feature.name);
    if (name == "avx512vnni") name = "avx512_vnni";
    if (name == "avxvnni") name = "avx_vnni";
    EXPECT_EQ(feature.present, std::find(flags.begin(), flags.end(), name) != flags.end()) << name;
  }
}

TEST(Cpu, AFeatureNobodyKnowsIsAbsent) {
  EXPECT_FALSE(cpu_info().has("warp_drive"));
  EXPECT_FALSE(cpu_info().model.empty());
}

}  // namespace
}  // namespace octet
