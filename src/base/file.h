#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file mapped into memory, read-only. Pages are read when they are touched and never copied.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Bytes bytes() const { return {data_, size_}; }
  // Gives the pages back to the system; they are read again from the file when touched.
  void drop_pages() const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Files that belong together: after commit() all of them are new. Whenever the process is killed, those who
// open them with MappedFile find all old or all new ones (base/journal.h says how; it holds for the files of
// one folder). Destroyed without commit(), it removes what it wrote.
//
//   AtomicFiles out;
//   out.begin(dir / "inference.pdiparams"); for (...) out.write(record);
//   out.add(dir / "inference.pdmodel", program);
//   out.commit();
//
// Links are followed. What is no regular file, such as /dev/null or a pipe, is not replaced but written to.
class AtomicFiles {
 public:
  AtomicFiles();
  ~AtomicFiles();
  AtomicFiles(const AtomicFiles&) = delete;
  AtomicFiles& operator=(const AtomicFiles&) = delete;

  void begin(const std::filesystem::path& path);
  void write(Bytes bytes);  // to the file that was begun last
  void write(std::string_view text) { write(as_bytes(text)); }
  void add(const std::filesystem::path& path, std::string_view text) {
    begin(path);
    write(text);
  }
  void commit();

 private:
  struct File;
  void finish_current();
  std::vector<File> files_;
};

// A file alone, whole or as it was.
void save_file(const std::filesystem::path& path, std::string_view text);

// The directory `path`, and those above it, where they are missing.
void make_directory(const std::filesystem::path& path);

// An error when no file could be made in this directory, which need not exist yet (an empty path is the
// current one): for long work to ask beforehand.
void check_writable(const std::filesystem::path& directory);

// The whole of a small text file; an error when it is larger than `limit` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t limit = 16 << 20);

}  // namespace octet
