#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/error.h"
#include "base/random.h"
#include "support/pictures.h"
#include "support/run_program.h"
#include "support/temp_dir.h"

// For tests of `octet train`, the program, on a few small pictures.
namespace octet::testing {

// Noise with a tint that tells the class.
inline void write_pictures(const std::filesystem::path& folder, int count, int color) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    Image image(36, 36);
    Random random({static_cast<std::uint64_t>(color), static_cast<std::uint64_t>(i)});
    for (std::size_t p = 0; p < image.pixels.size(); ++p)
      image.pixels[p] =
          static_cast<std::uint8_t>(random.below(150) + (static_cast<int>(p % 3) == color ? 100 : 0));
    write_file(folder / fmt::format("{:02}.png", i), encode_png(image));
  }
}

// A folder with 48 pictures of three classes to train on, and 12 to evaluate.
struct Pictures : TempDir {
  Pictures() {
    for (const auto& [color, name] : {std::pair(0, "red"), {1, "green"}, {2, "blue"}}) {
      write_pictures(*this / "data/train" / name, 16, color);
      write_pictures(*this / "data/val" / name, 4, color);
    }
  }

  // In this folder, with flags that make it quick.
  ProgramResult train(const std::string& flags) const { return run_shell(command(flags), path()); }
  static std::string command(const std::string& flags) {
    return "octet train --data-path data --model resnet18 --width 0.25 --img-size 32 -b 8 --epochs 2 --lr "
           "0.05 "
           "--threads 1 -j 1 --device cpu --print-freq 1 --output-dir out " +
           flags;
  }
  bool has(const std::string& file) const { return std::filesystem::exists(*this / file); }
};

// The losses in a log, as they stand there.
inline std::vector<std::string> losses(const std::string& log) {
  static const std::regex loss(R"(\[Epoch \d+, iter: \d+\][^\n]* loss: ([^,]+),)");
  std::vector<std::string> found;
  for (std::sregex_iterator it(log.begin(), log.end(), loss), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

inline void expect_one_error(const ProgramResult& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.err.starts_with("octet: error: ")) << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  for (const std::string& part : parts) EXPECT_THAT(result.err, ::testing::HasSubstr(part));
}

inline bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  return read_file(a) == read_file(b) && !read_file(a).empty();
}

// Runs `flags` in the background until `line` is in its log, then sends the signal; the exit code is the
// job's.
inline ProgramResult interrupt(const Pictures& pictures, const std::string& flags, const std::string& line,
                               const std::string& signal) {
  return run_shell("(" + Pictures::command(flags).replace(0, 5, "exec octet") +
                       ") >log 2>err & pid=$!; "
                       "until grep -q '" +
                       line +
                       "' log; do kill -0 $pid || exit 99; sleep 0.01; done; "
                       "kill -" +
                       signal + " $pid; wait $pid",
                   pictures.path());
}

// The same with two processes.
inline std::string launched(const std::string& flags) {
  return Pictures::command(flags).replace(0, 11, "octet launch --nproc 2 train");
}

}  // namespace octet::testing
