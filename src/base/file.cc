#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/journal.h"
#include "base/unfinished.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

int open_to_read(const fs::path& path, struct stat* info) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  if (::fstat(fd, info) != 0 || !S_ISREG(info->st_mode)) {
    bool is_dir = S_ISDIR(info->st_mode);
    ::close(fd);
    fail("{}: is {}, expected a file", path.string(), is_dir ? "a directory" : "not a regular file");
  }
  return fd;
}

}  // namespace

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  struct stat info {};
  int fd = open_to_read(whole_file(path), &info);
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ > 0) {
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    ::close(fd);
    if (data == MAP_FAILED) fail("{}: cannot map: {}", path.string(), std::strerror(error));
    data_ = static_cast<const std::byte*>(data);
  } else {
    ::close(fd);
  }
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop_pages() const {
  if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

struct AtomicFiles::File {
  fs::path path;       // where links lead to
  fs::path temporary;  // empty: written through
  std::uint64_t bytes = 0;
  int fd = -1;          // of a temporary file it stays open, and so locked, until it has its name
  int unfinished = -1;  // for a signal; see unfinished.h
  std::vector<std::byte> buffer;

  void write_out(Bytes data) {
    bytes += data.size();
    while (!data.empty()) {
      const ssize_t n = ::write(fd, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
      data = data.subspan(static_cast<std::size_t>(n));
    }
  }

  void discard() {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    if (fd >= 0) ::close(fd);
    forget_unfinished(unfinished);
  }
};

AtomicFiles::AtomicFiles() = default;

AtomicFiles::~AtomicFiles() {
  for (File& file : files_) file.discard();
}

void AtomicFiles::begin(const fs::path& path) {
  finish_current();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) fail("{}: is a directory, expected a file name", path.string());
  File file;
  file.path = follow_links(path);
  // /dev/stdout is a link to /proc/self/fd/1, also where that is a regular file.
  if ((fs::exists(status) && !fs::is_regular_file(status)) || path.string().starts_with("/dev/std")) {
    file.path = path;
    file.fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  } else {
    const fs::path folder = folder_of(file.path);
    if (std::ranges::none_of(files_, [&](const File& other) { return folder_of(other.path) == folder; }))
      remove_leftovers(folder);
    const auto same = std::ranges::find(files_, file.path, &File::path);
    if (same != files_.end()) {  // the last one counts
      same->discard();
      files_.erase(same);
    }
    file.fd = make_temporary(folder, &file.temporary, &file.unfinished);
  }
  if (file.fd < 0) fail("{}: cannot create: {}", path.string(), std::strerror(errno));
  files_.push_back(std::move(file));
}

void AtomicFiles::write(Bytes bytes) {
  check(!files_.empty(), "AtomicFiles::write needs begin() first");
  constexpr std::size_t kBuffer = 1 << 16;
  File& file = files_.back();
  if (file.buffer.size() + bytes.size() > kBuffer) {
    file.write_out(file.buffer);
    file.buffer.clear();
    if (bytes.size() > kBuffer) return file.write_out(bytes);
  }
  file.buffer.insert(file.buffer.end(), bytes.begin(), bytes.end());
}

void AtomicFiles::finish_current() {
  if (files_.empty()) return;
  File& file = files_.back();
  file.write_out(file.buffer);
  file.buffer = {};
  if (!file.temporary.empty() && ::fsync(file.fd) != 0)
    fail("{}: cannot sync: {}", file.path.string(), std::strerror(errno));
}

void AtomicFiles::commit() {
  finish_current();
  const SignalsWait wait;
  std::map<fs::path, std::vector<JournalEntry>> folders;
  for (File& file : files_) {
    if (file.temporary.empty()) continue;
    forget_unfinished(std::exchange(file.unfinished, -1));  // a signal may not remove what a journal lists
    folders[folder_of(file.path)].push_back(
        {file.temporary.filename().string(), file.path.filename().string(), file.bytes});
  }
  for (const auto& item : folders) {
    const fs::path& folder = item.first;
    bool decided = false;
    const auto keep = [&] {
      for (File& file : files_)
        if (decided && folder_of(file.path) == folder) file.temporary.clear();
    };
    try {
      commit_files(folder, item.second, &decided);
    } catch (...) {
      keep();
      throw;
    }
    keep();
  }
  for (File& file : files_) file.discard();
  files_.clear();
}

void save_file(const fs::path& path, std::string_view text) {
  AtomicFiles file;
  file.add(path, text);
  file.commit();
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path))
    fail("{}: cannot make this directory: {}", path.string(), error.message());
}

void check_writable(const fs::path& directory) {
  std::error_code error;
  fs::path there = fs::absolute(directory.empty() ? "." : directory).lexically_normal();
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there)) fail("{}: {} is not a directory", directory.string(), there.string());
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    fail("{}: nothing can be written there: {}", directory.string(), std::strerror(errno));
}

std::string read_text(const fs::path& path, std::size_t limit) {
  MappedFile file(path);
  if (file.bytes().size() > limit)
    fail("{}: {} bytes, expected a text file of at most {}", path.string(), file.bytes().size(), limit);
  return std::string(as_text(file.bytes()));
}

}  // namespace octet
