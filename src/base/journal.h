#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// How several files of a folder are replaced as one, on a file system that renames one file at a time.
//
// Each is written and synced under a temporary name. Then a journal appears in the folder, by one rename, and
// lists which temporary file becomes which: from here on the new files count. They are renamed, and the
// journal goes. Killed before it appears, a run leaves the old files; killed after, whoever reads or writes
// in the folder next carries out what it says. AtomicFiles (base/file.h) writes this way, MappedFile reads.
namespace octet {

struct JournalEntry {
  std::string temporary, name;  // both in the journal's folder
  std::uint64_t bytes = 0;
};

// An flock on a folder, which a process that ends gives back. Exclusive while files are renamed; shared
// while files that belong together are opened, so that none of them is replaced in between.
class FolderLock {
 public:
  enum class Kind { kShared, kExclusive };
  FolderLock(const std::filesystem::path& folder, Kind kind);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  void sync() const;  // what was renamed or removed in the folder is on the disk

 private:
  const std::filesystem::path folder_;
  const Kind kind_;
  int fd_ = -1;
};

// The folder of a file: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Where the links at `path` lead, whether or not there is a file.
std::filesystem::path follow_links(std::filesystem::path path);

// Carries out a journal that a killed run left, if there is one and the folder can be written to.
void finish_commit(const std::filesystem::path& folder);

// The file to open for `path`, after finish_commit: itself, or in a folder that can't be written to the
// temporary file that stands for it in the journal.
std::filesystem::path whole_file(const std::filesystem::path& path);

// Whether there is a file to open for `path`.
bool file_exists(const std::filesystem::path& path);

// A new temporary file in the folder, open for writing: its name in *path. It is locked as long as it is
// open, which is how others know that it is not left over.
int make_temporary(const std::filesystem::path& folder, std::filesystem::path* path, int* unfinished);

// finish_commit, and removes the temporary files of runs that ended without a commit.
void remove_leftovers(const std::filesystem::path& folder);

// Replaces files by temporary ones of the same folder, which are synced: all or none. Once it is certain that
// all will be, `decided` is set.
void commit_files(const std::filesystem::path& folder, const std::vector<JournalEntry>& entries,
                  bool* decided);

}  // namespace octet
