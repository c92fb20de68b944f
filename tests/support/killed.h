#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/journal.h"
#include "support/paths.h"
#include "support/run_program.h"
#include "support/temp_dir.h"

// For tests that kill the program before one of the steps with which it changes the disk.
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

// `only` is the one kind of step that counts (such as "rename"); empty: all.
inline ProgramResult run_killed(const std::string& command, int at, const std::filesystem::path& folder,
                                const std::string& only = "") {
  return run_shell("LD_PRELOAD='" + std::string(kKillAt) +
                       "' ASAN_OPTIONS=verify_asan_link_order=0 OCTET_KILL_AT=" + std::to_string(at) +
                       (only.empty() ? "" : " OCTET_KILL_ONLY=" + only) + " exec octet " + command,
                   folder);
}

}  // namespace octet
