#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.h"
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
  int fd = open_to_read(path, &info);
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
  fs::path path;
  fs::path temporary;
  int fd = -1;
  int unfinished = -1;  // for a signal; see unfinished.h
  std::vector<std::byte> buffer;
};

namespace {

void write_all(int fd, Bytes bytes, const fs::path& path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

AtomicFiles::AtomicFiles() = default;

AtomicFiles::~AtomicFiles() {
  for (File& file : files_) {
    if (file.fd >= 0) ::close(file.fd);
    if (!file.temporary.empty()) ::unlink(file.temporary.c_str());
    forget_unfinished(file.unfinished);
  }
}

void AtomicFiles::begin(const fs::path& path) {
  finish_current();
  if (fs::is_directory(path)) fail("{}: is a directory, expected a file name", path.string());
  File file;
  file.path = path;
  file.temporary = path.string() + fmt::format(".tmp{:08x}", std::random_device{}());
  file.unfinished = remember_unfinished(file.temporary.c_str());  // first, or a signal could come in between
  file.fd = ::open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file.fd < 0) {
    int error = errno;
    forget_unfinished(file.unfinished);
    fail("{}: cannot create: {}", path.string(), std::strerror(error));
  }
  files_.push_back(std::move(file));
}

void AtomicFiles::write(Bytes bytes) {
  check(!files_.empty(), "AtomicFiles::write needs begin() first");
  constexpr std::size_t kBuffer = 1 << 16;
  File& file = files_.back();
  if (file.buffer.size() + bytes.size() > kBuffer) {
    write_all(file.fd, file.buffer, file.path);
    file.buffer.clear();
    if (bytes.size() > kBuffer) return write_all(file.fd, bytes, file.path);
  }
  file.buffer.insert(file.buffer.end(), bytes.begin(), bytes.end());
}

void AtomicFiles::finish_current() {
  if (files_.empty() || files_.back().fd < 0) return;
  File& file = files_.back();
  write_all(file.fd, file.buffer, file.path);
  if (::fsync(file.fd) != 0) fail("{}: cannot sync: {}", file.path.string(), std::strerror(errno));
  ::close(file.fd);
  file.fd = -1;
  file.buffer = {};
}

void AtomicFiles::commit() {
  finish_current();
  for (File& file : files_) {
    if (::rename(file.temporary.c_str(), file.path.c_str()) != 0)
      fail("{}: cannot rename into place: {}", file.path.string(), std::strerror(errno));
    file.temporary.clear();
    forget_unfinished(file.unfinished);
  }
  files_.clear();
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path))
    fail("{}: cannot make this directory: {}", path.string(), error.message());
}

void check_writable(const fs::path& directory) {
  std::error_code error;
  fs::path there = fs::absolute(directory).lexically_normal();
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
