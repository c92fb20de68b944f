#include "base/progress.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A clock that the test moves, and a file to read back.
struct Recorder {
  std::FILE* file = std::tmpfile();
  Progress::Clock::time_point now{};
  ~Recorder() { std::fclose(file); }

  Progress::Output output(bool terminal) {
    return {file, terminal, [this] { return now; }};
  }
  std::string text() const {
    std::string text;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    return text;
  }
};

TEST(Progress, ALogGetsALineEveryFiveSeconds) {
  Recorder recorder;
  {
    Progress progress("pictures", 100, recorder.output(false));
    for (int i = 1; i <= 11; ++i) {
      recorder.now += seconds(1);
      progress.update(i);
    }
  }
  EXPECT_EQ(recorder.text(),
            "pictures: 5 of 100 (5 %), 1 min 35 s left\npictures: 10 of 100 (10 %), 1 min 30 s left\n");
}

TEST(Progress, AShortJobLeavesNoTraceInALog) {
  Recorder recorder;
  {
    Progress progress("pictures", 3, recorder.output(false));
    recorder.now += milliseconds(500);
    progress.update(3);
  }
  EXPECT_EQ(recorder.text(), "");
}

TEST(Progress, ATerminalShowsOneLineThatIsWipedAtTheEnd) {
  Recorder recorder;
  {
    Progress progress("pictures", 4, recorder.output(true));
    progress.update(1);  // too early
    recorder.now += seconds(2);
    progress.update(2);
    recorder.now += milliseconds(50);
    progress.update(3);  // too soon after the last
  }
  EXPECT_EQ(recorder.text(), "\rpictures: 2 of 4 (50 %), 2 s left\x1b[K\r\x1b[K");
}

TEST(Progress, NothingToDoIsNoDivisionByZero) {
  Recorder recorder;
  Progress progress("pictures", 0, recorder.output(false));
  recorder.now += seconds(10);
  progress.update(0);
  EXPECT_EQ(recorder.text(), "");
}

TEST(Progress, Durations) {
  EXPECT_EQ(format_duration(seconds(0)), "0 s");
  EXPECT_EQ(format_duration(seconds(59)), "59 s");
  EXPECT_EQ(format_duration(seconds(200)), "3 min 20 s");
  EXPECT_EQ(format_duration(seconds(7500)), "2 h 5 min");
}

}  // namespace
}  // namespace octet
