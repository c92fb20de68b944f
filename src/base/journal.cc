#include "base/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/unfinished.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kJournal = ".octet-commit";
constexpr std::string_view kTemporary = ".octet-";  // and sixteen hexadecimal digits
constexpr std::string_view kFirstLine = "octet commit 1";

// A thread that holds a shared lock can't wait for an exclusive one.
thread_local int shared_locks = 0;

bool is_temporary(std::string_view name) {
  return name.size() == kTemporary.size() + 16 && name.starts_with(kTemporary) &&
         name.find_first_not_of("0123456789abcdef", kTemporary.size()) == std::string_view::npos;
}

bool has_journal(const fs::path& folder) {
  return ::access((folder / kJournal).c_str(), F_OK) == 0;
}

bool is_file_of(const fs::path& path, std::uint64_t bytes) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<std::uint64_t>(info.st_size) == bytes;
}

// A line is "BYTES TEMPORARY NAME". The folder may come from anyone: names lead nowhere else.
JournalEntry parse_entry(std::string_view line) {
  JournalEntry entry;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), entry.bytes);
  std::string_view names = line.substr(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || !names.starts_with(" ")) fail("no number of bytes");
  names.remove_prefix(1);
  entry.temporary = names.substr(0, names.find(' '));
  if (!is_temporary(entry.temporary) || names.size() < entry.temporary.size() + 2) fail("no temporary name");
  entry.name = names.substr(entry.temporary.size() + 1);
  if (entry.name.find('/') != std::string::npos || entry.name == "." || entry.name == "..")
    fail("'{}' is not the name of a file", entry.name);
  return entry;
}

std::vector<JournalEntry> read_journal(const fs::path& folder) {
  const fs::path path = folder / kJournal;
  std::string text(1 << 16, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) return {};
  const ssize_t size = fd < 0 ? -1 : ::read(fd, text.data(), text.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (size < 0) fail("{}: cannot read: {}", path.string(), std::strerror(error));
  text.resize(static_cast<std::size_t>(size));
  std::vector<JournalEntry> entries;
  try {
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size(); ++line) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) fail("line {} has no end", line + 1);
      const std::string_view content = std::string_view(text).substr(at, end - at);
      if (line > 0) entries.push_back(parse_entry(content));
      if (line == 0 && content != kFirstLine) fail("it does not begin with '{}'", kFirstLine);
      at = end + 1;
    }
    if (line < 2) fail("it lists no files");
  } catch (const Error& problem) {
    fail("{}: damaged ({}); remove it to use the files of this folder as they are", path.string(),
         problem.what());
  }
  return entries;
}

// False when this user may not rename files here.
bool carry_out(const fs::path& folder, const std::vector<JournalEntry>& entries, const FolderLock& lock) {
  for (const auto& [temporary, name, bytes] : entries) {
    const fs::path from = folder / temporary, to = folder / name;
    if (is_file_of(from, bytes)) {
      if (::rename(from.c_str(), to.c_str()) == 0) continue;
      if (errno == EACCES || errno == EPERM || errno == EROFS) return false;
      fail("{}: cannot rename into place: {}", to.string(), std::strerror(errno));
    }
    if (!is_file_of(to, bytes))  // it would be there, had it been renamed before
      fail("{}: neither it nor {} has the {} bytes that {} lists; write this folder's files anew",
           to.string(), temporary, bytes, (folder / kJournal).string());
  }
  lock.sync();
  ::unlink((folder / kJournal).c_str());
  lock.sync();
  return true;
}

bool finish_commit(const fs::path& folder, const FolderLock& lock) {
  const std::vector<JournalEntry> entries = read_journal(folder);
  return entries.empty() || carry_out(folder, entries, lock);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, Kind kind) : folder_(folder), kind_(kind) {
  // With a journal here that can be carried out, the files are not whole yet.
  for (int attempt = 0; kind == Kind::kShared && attempt < 100; ++attempt) {
    octet::finish_commit(folder);
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd_ >= 0 && ::flock(fd_, LOCK_SH) != 0 && errno == EINTR) {
    }
    if (!has_journal(folder) || ::access(folder.c_str(), W_OK) != 0) break;
  }
  if (kind == Kind::kShared) {
    ++shared_locks;
    return;
  }
  check(shared_locks == 0, "a thread that opens files of a folder can't rename some at the same time");
  fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) fail("{}: cannot open: {}", folder.string(), std::strerror(errno));
  while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }  // where there are no locks, there are none
}

FolderLock::~FolderLock() {
  if (kind_ == Kind::kShared) --shared_locks;
  if (fd_ >= 0) ::close(fd_);
}

void FolderLock::sync() const {
  // Not every file system can do it.
  if (::fsync(fd_) != 0 && errno == EIO) fail("{}: cannot sync: {}", folder_.string(), std::strerror(errno));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path follow_links(fs::path path) {
  std::error_code error;
  for (int i = 0; i < 40 && fs::is_symlink(path, error); ++i) {
    fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

void finish_commit(const fs::path& folder) {
  if (!has_journal(folder) || shared_locks > 0) return;
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return;
  const FolderLock lock(folder, FolderLock::Kind::kExclusive);
  finish_commit(folder, lock);
}

fs::path whole_file(const fs::path& path) {
  const fs::path target = follow_links(path), folder = folder_of(target);
  finish_commit(folder);
  if (!has_journal(folder)) return path;
  fs::path found = path;
  for (const auto& [temporary, name, bytes] : read_journal(folder))
    if (name == target.filename() && is_file_of(folder / temporary, bytes)) found = folder / temporary;
  return found;
}

bool file_exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(whole_file(path), error);
}

int make_temporary(const fs::path& folder, fs::path* path, int* unfinished) {
  std::random_device random;
  for (;;) {
    *path = folder / fmt::format("{}{:08x}{:08x}", kTemporary, random(), random());
    *unfinished = remember_unfinished(path->c_str());  // first, or a signal could come in between
    const int fd = ::open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    struct stat info {};
    // Someone who removes leftovers may have been faster with the lock.
    if (fd >= 0 && (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && ::fstat(fd, &info) == 0 &&
        info.st_nlink > 0)
      return fd;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    forget_unfinished(*unfinished);
    if (fd < 0 && error != EEXIST) {
      errno = error;
      return -1;
    }
  }
}

void remove_leftovers(const fs::path& folder) {
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) return;
  const FolderLock lock(folder, FolderLock::Kind::kExclusive);
  if (!finish_commit(folder, lock)) return;
  for (const fs::path& path : list_folder(folder)) {
    if (!is_temporary(path.filename().string())) continue;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    if (fd >= 0) ::close(fd);
  }
}

void commit_files(const fs::path& folder, const std::vector<JournalEntry>& entries, bool* decided) {
  const FolderLock lock(folder, FolderLock::Kind::kExclusive);
  if (!finish_commit(folder, lock))
    fail("{}: another user's files are to be renamed here; write elsewhere", folder.string());
  if (entries.size() == 1) {  // one rename is a commit
    const fs::path from = folder / entries[0].temporary, to = folder / entries[0].name;
    if (::rename(from.c_str(), to.c_str()) != 0)
      fail("{}: cannot rename into place: {}", to.string(), std::strerror(errno));
    *decided = true;
    return lock.sync();
  }
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const auto& [temporary, name, bytes] : entries) {
    if (name.find('\n') != std::string::npos) fail("{}: a name of two lines", (folder / name).string());
    text += fmt::format("{} {} {}\n", bytes, temporary, name);
  }
  fs::path temporary;
  int unfinished = -1;
  const int fd = make_temporary(folder, &temporary, &unfinished);
  const bool written = fd >= 0 &&
                       ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  lock.sync();  // the files that it lists are there
  *decided = written && ::rename(temporary.c_str(), (folder / kJournal).c_str()) == 0;
  const int error = errno;
  if (!*decided) ::unlink(temporary.c_str());
  if (fd >= 0) ::close(fd);
  forget_unfinished(unfinished);
  if (!*decided) fail("{}: cannot write here: {}", folder.string(), std::strerror(error));
  lock.sync();
  if (!carry_out(folder, entries, lock)) fail("{}: files of this folder can't be replaced", folder.string());
}

}  // namespace octet
