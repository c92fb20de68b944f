#include "report/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"

namespace octet {

namespace {

namespace fs = std::filesystem;

// Fields of tensorflow/core/util/event.proto and framework/summary.proto.
constexpr protozero::pbf_tag_type kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
constexpr protozero::pbf_tag_type kSummaryValue = 1, kTag = 1, kSimpleValue = 2;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}

// Lowest byte first.
template <class T>
std::string little_endian(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

// A new file, named after the second in which it is made, or a later one when there is such a file.
int create_log(const fs::path& directory, fs::path* path) {
  for (auto seconds = static_cast<std::int64_t>(seconds_now());; ++seconds) {
    *path = directory / fmt::format("events.out.tfevents.{:010}.octet", seconds);
    const int file = open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

std::uint32_t crc32c(Bytes bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(Bytes bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

TensorBoardWriter::TensorBoardWriter(const fs::path& directory) {
  make_directory(directory);
  file_ = create_log(directory, &path_);
  if (file_ < 0) fail("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(kWallTime, seconds_now());
  writer.add_string(kFileVersion, "brain.Event:2");
  write(event);
}

TensorBoardWriter::~TensorBoardWriter() {
  if (file_ >= 0) close(file_);
}

void TensorBoardWriter::add_scalar(std::string_view tag, std::int64_t step, double number) {
  std::string value, summary, event;
  protozero::pbf_writer value_writer(value);
  value_writer.add_string(kTag, tag.data(), tag.size());
  value_writer.add_float(kSimpleValue, static_cast<float>(number));
  protozero::pbf_writer(summary).add_message(kSummaryValue, value);
  protozero::pbf_writer writer(event);
  writer.add_double(kWallTime, seconds_now());
  writer.add_int64(kStep, step);
  writer.add_message(kSummary, summary);
  write(event);
}

// A TFRecord: the length and its checksum, the event and its checksum.
void TensorBoardWriter::write(const std::string& event) {
  const std::string length = little_endian<std::uint64_t>(event.size());
  const std::string record = length + little_endian(masked_crc32c(as_bytes(length))) + event +
                             little_endian(masked_crc32c(as_bytes(event)));
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t count = ::write(file_, record.data() + done, record.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace octet
