#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "data/image.h"

namespace octet {

// Writes a log that VisualDL shows (`visualdl --logdir DIR`): a file vdlrecords.<seconds>.log in a directory,
// which is one run.
//
//   VisualDLWriter log("output/log");
//   log.add_scalar("train/loss", step, loss);
//
// A record is with the system when its function returns, so a run that is killed keeps its log.
class VisualDLWriter {
 public:
  enum class Mode : std::uint8_t {
    kNew,
    // Goes on with the newest log of the directory, if there is one: VisualDL shows only that, and a run that
    // is resumed would lose its beginning.
    kContinue,
  };

  // Makes the directory if need be.
  explicit VisualDLWriter(const std::filesystem::path& directory, Mode mode = Mode::kNew);
  ~VisualDLWriter();
  VisualDLWriter(const VisualDLWriter&) = delete;
  VisualDLWriter& operator=(const VisualDLWriter&) = delete;

  // The same tag at several steps is a curve; `/` in a tag groups curves.
  void add_scalar(std::string_view tag, std::int64_t step, double value);
  void add_image(std::string_view tag, std::int64_t step, const Image& image);
  void flush();  // to the disk, for a machine that may lose its power

  const std::filesystem::path& path() const { return path_; }

 private:
  void write(const std::string& record);
  void cut(std::int64_t end);  // half a record would spoil what is written behind it

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace octet
