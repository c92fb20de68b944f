#include "data/archive.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "data/zip.h"

namespace octet {

namespace {

namespace fs = std::filesystem;

// Makes the files, and keeps the limits.
class Folder {
 public:
  Folder(const fs::path& folder, const std::string& name, const ArchiveLimits& limits)
      : folder_(folder), name_(name), limits_(limits) {}

  void add_folder(const std::string& entry) {
    count();
    if (const fs::path path = place_of(entry); !path.empty()) make_directory(path);
  }

  void begin_file(const std::string& entry) {
    count();
    const fs::path path = place_of(entry);
    if (path.empty()) fail("{}: an entry without a name", name_);
    make_directory(path.parent_path());
    file_.begin(path);
  }
  void write(Bytes bytes) {
    written_ += bytes.size();
    if (written_ > limits_.bytes) fail("{}: more than {} bytes when it is unpacked", name_, limits_.bytes);
    file_.write(bytes);
  }
  void commit() { file_.commit(); }

 private:
  void count() {
    if (++entries_ > limits_.files) fail("{}: more than {} files", name_, limits_.files);
  }

  // Empty: the folder itself.
  fs::path place_of(const std::string& entry) const {
    constexpr std::size_t kMaxName = 4096;
    if (entry.empty() || entry.size() > kMaxName || entry.find('\0') != std::string::npos)
      fail("{}: an entry whose name makes no sense", name_);
    const fs::path path = entry;
    fs::path inside;
    for (const fs::path& part : path) {
      if (path.is_absolute() || part == ".." || entry.find('\\') != std::string::npos)
        fail("{}: the entry '{}' would be outside of the folder", name_, printable(entry));
      if (part != "." && !part.empty()) inside /= part;
    }
    return inside.empty() ? inside : folder_ / inside;
  }

  const fs::path folder_;
  const std::string& name_;
  const ArchiveLimits limits_;
  AtomicFiles file_;
  std::uint64_t entries_ = 0, written_ = 0;
};

void unpack_zip(Bytes bytes, const std::string& name, Folder& folder) {
  const std::string kind = "this zip archive";
  for (const ZipEntry& entry : read_zip(bytes, name, kind)) {
    const std::string shown = printable(entry.name);
    if (entry.is_link) fail("{}: the entry '{}' is a link", name, shown);
    if (entry.name.ends_with('/')) {
      folder.add_folder(entry.name);
      continue;
    }
    if (entry.is_large)
      fail("{}: '{}' is larger than 4 GB, which octet does not unpack from zip archives", name, shown);
    if (entry.is_encrypted) fail("{}: '{}' is encrypted", name, shown);
    if (!entry.is_stored && !entry.is_deflated)
      fail("{}: '{}' is packed in a way that octet does not know", name, shown);
    folder.begin_file(entry.name);
    unpack_entry(entry, name, kind, [&](Bytes piece) { folder.write(piece); });
    folder.commit();
  }
}

// Reads a tar archive as its bytes come: POSIX's and GNU's, with their long names.
class Tar {
 public:
  Tar(const std::string& name, Folder& folder) : name_(name), folder_(folder) {}

  void write(Bytes bytes) {
    while (!bytes.empty()) {
      if (left_ > 0) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        take(bytes.first(size));
        bytes = bytes.subspan(size);
        continue;
      }
      const std::size_t size = std::min(kBlock - filled_, bytes.size());
      std::ranges::copy(bytes.first(size), block_.begin() + static_cast<std::ptrdiff_t>(filled_));
      filled_ += size;
      bytes = bytes.subspan(size);
      if (filled_ < kBlock) continue;
      filled_ = 0;
      read_header();
    }
  }

  void finish() {
    if (left_ > 0 || filled_ > 0 || !is_ended_) damaged("it ends early");
  }

 private:
  static constexpr std::size_t kBlock = 512;
  enum class Taking { kNothing, kFile, kLongName, kExtended };

  [[noreturn]] void damaged(std::string_view what) const {
    fail("{}: this tar archive is damaged or cut off ({})", name_, what);
  }
  std::string text(std::size_t at, std::size_t size) const {
    const std::string_view field(reinterpret_cast<const char*>(block_.data()) + at, size);
    return std::string(field.substr(0, field.find('\0')));
  }
  std::uint64_t octal(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (char c : text(at, size)) {
      if (c == ' ') continue;
      if (c < '0' || c > '7' || value >> 60 != 0) damaged("a number is wrong");
      value = value * 8 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }

  void read_header() {
    if (std::ranges::all_of(block_, [](std::byte b) { return b == std::byte{0}; })) {
      is_ended_ = true;
      return;
    }
    if (is_ended_) damaged("there is more behind its end");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<std::uint64_t>(block_[i]);
    if (sum != octal(148, 8)) damaged("a checksum is wrong");
    std::string entry = text(0, 100);
    if (text(257, 5) == "ustar" && block_[263] == std::byte{'0'})
      if (const std::string prefix = text(345, 155); !prefix.empty()) entry = prefix + "/" + entry;
    const char type = static_cast<char>(block_[156]);
    size_ = octal(124, 12);
    constexpr std::uint64_t kMaxName = 1 << 16;
    if ((type == 'L' || type == 'x' || type == 'g') && size_ > kMaxName) damaged("a name is too long");
    long_.clear();
    if (type == 'L') {
      taking_ = Taking::kLongName;
    } else if (type == 'x') {
      taking_ = Taking::kExtended;
    } else if (type == 'g') {
      taking_ = Taking::kNothing;
    } else {
      begin_entry(next_name_.empty() ? entry : std::exchange(next_name_, {}), type);
    }
    left_ = (size_ + kBlock - 1) / kBlock * kBlock;
    wanted_ = size_;
    if (left_ == 0) end_entry();
  }

  void begin_entry(const std::string& entry, char type) {
    taking_ = Taking::kNothing;
    if (type == '5' || ((type == '0' || type == '\0') && entry.ends_with('/'))) {
      folder_.add_folder(entry);
    } else if (type == '0' || type == '\0' || type == '7') {
      folder_.begin_file(entry);
      taking_ = Taking::kFile;
    } else if (type == '1' || type == '2') {
      fail("{}: the entry '{}' is a link", name_, printable(entry));
    } else {
      fail("{}: the entry '{}' is neither a file nor a folder", name_, printable(entry));
    }
  }

  // Of an entry; what fills up its last block is passed over.
  void take(Bytes bytes) {
    left_ -= bytes.size();
    const Bytes real = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(wanted_, bytes.size())));
    wanted_ -= real.size();
    if (taking_ == Taking::kFile) folder_.write(real);
    if (taking_ == Taking::kLongName || taking_ == Taking::kExtended) long_ += as_text(real);
    if (left_ == 0) end_entry();
  }

  void end_entry() {
    if (taking_ == Taking::kFile) folder_.commit();
    if (taking_ == Taking::kLongName) next_name_ = long_.substr(0, long_.find('\0'));
    if (taking_ == Taking::kExtended) read_extended();
    taking_ = Taking::kNothing;
  }

  // Lines of "LENGTH KEY=VALUE"; the path is all that matters here.
  void read_extended() {
    for (std::size_t at = 0; at < long_.size();) {
      std::uint64_t length = 0;
      std::size_t digit = at;
      for (; digit < long_.size() && long_[digit] >= '0' && long_[digit] <= '9' && length < long_.size();
           ++digit)
        length = length * 10 + static_cast<std::uint64_t>(long_[digit] - '0');
      if (length <= digit - at || length > long_.size() - at || long_[digit] != ' ')
        damaged("a long name is wrong");
      const std::string_view line(long_.data() + digit + 1, at + length - digit - 1);
      if (line.starts_with("path=")) next_name_ = line.substr(5, line.find('\n') - 5);
      if (line.starts_with("size=")) damaged("a file of more than 8 GB");
      at += length;
    }
  }

  const std::string& name_;
  Folder& folder_;
  std::array<std::byte, kBlock> block_{};
  std::size_t filled_ = 0;               // of a header
  std::uint64_t size_ = 0;               // of an entry
  std::uint64_t left_ = 0, wanted_ = 0;  // of an entry's blocks, and of its bytes
  Taking taking_ = Taking::kNothing;
  std::string long_, next_name_;
  bool is_ended_ = false;
};

}  // namespace

bool is_archive_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(std::array{".zip", ".tar", ".tar.gz", ".tgz"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

void unpack(Bytes bytes, const std::string& name, const fs::path& folder, const ArchiveLimits& limits) {
  Folder to(folder, name, limits);
  const auto begins_with = [&](std::string_view magic, std::size_t at = 0) {
    return bytes.size() >= at + magic.size() && as_text(bytes.subspan(at, magic.size())) == magic;
  };
  if (begins_with("PK\x03\x04") || begins_with("PK\x05\x06")) return unpack_zip(bytes, name, to);
  const bool is_packed = begins_with("\x1f\x8b");
  if (!is_packed && !begins_with("ustar", 257)) fail("{}: neither a zip nor a tar archive", name);
  Tar tar(name, to);
  constexpr int kGzip = MAX_WBITS + 16;
  if (!is_packed)
    tar.write(bytes);
  else if (!inflate_pieces(bytes, kGzip, [&](Bytes piece) { tar.write(piece); }))
    fail("{}: this gzip file is damaged or cut off", name);
  tar.finish();
}

}  // namespace octet
