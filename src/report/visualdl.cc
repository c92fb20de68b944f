#include "report/visualdl.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace octet {

namespace {

namespace fs = std::filesystem;

// The file is a sequence of records: eight bytes with the length, lowest first, and then a message Record of
// visualdl/proto/record.proto. These are its fields.
constexpr protozero::pbf_tag_type kRecordValues = 1;
constexpr protozero::pbf_tag_type kId = 1, kTag = 2, kTimestamp = 3, kScalar = 4, kImage = 5, kMetaData = 10;
constexpr protozero::pbf_tag_type kEncodedImage = 4;

std::int64_t milliseconds_now() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// A record of one value; `add` writes the field that tells its kind.
template <class Add>
std::string make_record(std::string_view tag, std::int64_t step, Add add) {
  std::string value, record;
  protozero::pbf_writer writer(value);
  writer.add_int64(kId, step);
  writer.add_string(kTag, tag.data(), tag.size());
  writer.add_int64(kTimestamp, milliseconds_now());
  add(writer);
  protozero::pbf_writer(record).add_message(kRecordValues, value);
  return record;
}

std::uint64_t little_endian(std::uint64_t number) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(number);
  return number;
}

fs::path newest_log(const fs::path& directory) {
  fs::path newest;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename();
    if (name.find("vdlrecords") != std::string::npos && name > newest.filename()) newest = entry.path();
  }
  return newest;
}

// Where the last whole record ends: what a crash of the machine left behind it would spoil the rest.
off_t end_of_records(int file) {
  const off_t size = lseek(file, 0, SEEK_END);
  off_t end = 0;
  std::uint64_t length = 0;
  while (pread(file, &length, sizeof length, end) == sizeof length) {
    const auto left = static_cast<std::uint64_t>(size - end) - sizeof length;
    if (little_endian(length) > left) break;
    end += static_cast<off_t>(sizeof length + little_endian(length));
  }
  return end;
}

// A new file, named after the second in which it is made, or a later one when there is such a file.
int create_log(const fs::path& directory, fs::path* path) {
  for (std::int64_t seconds = milliseconds_now() / 1000;; ++seconds) {
    *path = directory / fmt::format("vdlrecords.{:010}.log", seconds);
    int file = open(path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

VisualDLWriter::VisualDLWriter(const fs::path& directory, Mode mode) {
  make_directory(directory);
  if (mode == Mode::kContinue) path_ = newest_log(directory);
  file_ = path_.empty() ? create_log(directory, &path_) : open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) fail("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  const off_t end = end_of_records(file_);
  cut(end);
  // VisualDL expects this first; the name could be another one than the directory's.
  if (end == 0)
    write(
        make_record("meta_data_tag", 0, [](auto& writer) { writer.add_message(kMetaData, std::string()); }));
}

VisualDLWriter::~VisualDLWriter() {
  if (file_ >= 0) close(file_);
}

void VisualDLWriter::add_scalar(std::string_view tag, std::int64_t step, double value) {
  write(make_record(tag, step, [&](auto& writer) { writer.add_float(kScalar, static_cast<float>(value)); }));
}

void VisualDLWriter::add_image(std::string_view tag, std::int64_t step, const Image& image) {
  std::string message;
  protozero::pbf_writer(message).add_bytes(kEncodedImage, encode_png(image));
  write(make_record(tag, step, [&](auto& writer) { writer.add_message(kImage, message); }));
}

void VisualDLWriter::flush() {
  fsync(file_);
}

void VisualDLWriter::cut(std::int64_t end) {
  if (ftruncate(file_, end) == 0 && lseek(file_, end, SEEK_SET) == end) return;
  int code = errno;
  close(std::exchange(file_, -1));
  fail("{}: cannot be written: {}", path_.string(), std::strerror(code));
}

void VisualDLWriter::write(const std::string& record) {
  const std::uint64_t length = little_endian(record.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += record;  // in one piece: a run that is killed leaves whole records
  const off_t begin = lseek(file_, 0, SEEK_CUR);
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      int code = errno;
      cut(begin);
      fail("{}: cannot be written: {}", path_.string(), std::strerror(code));
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace octet
