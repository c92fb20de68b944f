#pragma once
#include <string>

#include "support/temp_dir.h"

namespace octet {

// Whether the process whose number a file holds still runs. One that has ended may be listed until it is
// waited for.
inline bool is_running(const std::filesystem::path& pid_file) {
  const std::string pid = std::to_string(std::stoi(read_file(pid_file)));
  const std::string status = read_file("/proc/" + pid + "/stat");
  return !status.empty() && status.find(") Z ") == std::string::npos;
}

}  // namespace octet
