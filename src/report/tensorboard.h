#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace octet {

// Writes an event file that TensorBoard shows (`tensorboard --logdir DIR`):
// events.out.tfevents.<seconds>.octet in a directory, which is one run. TensorBoard reads all files of a
// directory, so a run that is resumed has a new one.
//
//   TensorBoardWriter log("output");
//   log.add_scalar("train/loss", step, loss);
//
// A record is with the system when its function returns, so a run that is killed keeps its log.
class TensorBoardWriter {
 public:
  // Makes the directory if need be.
  explicit TensorBoardWriter(const std::filesystem::path& directory);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // The same tag at several steps is a curve; `/` in a tag groups curves.
  void add_scalar(std::string_view tag, std::int64_t step, double value);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write(const std::string& event);

  std::filesystem::path path_;
  int file_ = -1;
};

// The checksum of TFRecord files: CRC-32C (Castagnoli), and the same as it stands in a record.
std::uint32_t crc32c(Bytes bytes);
std::uint32_t masked_crc32c(Bytes bytes);

}  // namespace octet
