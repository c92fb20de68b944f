#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/journal.h"
#include "support/paths.h"
#include "support/run_program.h"
#include "support/temp_dir.h"

// For tests in which something goes wrong at one of the steps of the program.
namespace octet {

using Files = std::map<std::string, std::string>;

inline Files files_in(const std::filesystem::path& folder) {
  Files files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename().string()] = read_file(entry.path());
  return files;
}

// What someone sees who opens files of this folder.
inline Files read_together(const std::filesystem::path& folder) {
  finish_commit(folder);
  Files files = files_in(folder);
  std::erase_if(files, [](const auto& file) { return file.first.starts_with(".octet-"); });
  return files;
}

struct Fault {
  long at = 0;  // the number of the step; 0: nothing goes wrong
  std::string only =
      {};  // the one kind of step that counts (such as "rename"); empty: all that change the disk
  std::string how = "kill";        // or "fail", or "stay"
  std::filesystem::path log = {};  // see faults.cc
};

// `octet COMMAND` with a fault.
inline ProgramResult run_with_fault(const std::string& command, const Fault& fault,
                                    const std::filesystem::path& folder) {
  std::string line = "LD_PRELOAD='" + std::string(kFaults) + "' ASAN_OPTIONS=verify_asan_link_order=0";
  line += " OCTET_FAULT_AT=" + std::to_string(fault.at) + " OCTET_FAULT=" + fault.how;
  if (!fault.only.empty()) line += " OCTET_FAULT_ONLY=" + fault.only;
  if (!fault.log.empty()) line += " OCTET_FAULT_LOG='" + fault.log.string() + "'";
  return run_shell(line + " exec octet " + command, folder);
}

// Killed before step `at`.
inline ProgramResult run_killed(const std::string& command, int at, const std::filesystem::path& folder,
                                const std::string& only = "") {
  return run_with_fault(command, {.at = at, .only = only}, folder);
}

}  // namespace octet
