#include "tipc/runner.h"

#include <gmock/gmock.h>

#include "octet/error.h"
#include "support/temp_dir.h"

namespace octet::tipc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Status = Result::Status;

struct TipcRunner : testing::Test {
  TipcRunner() {
    plan.model_name = "net";
    plan.mode = "lite_train_lite_infer";
    plan.folder = dir / "log/net";
  }

  Step& add(const std::string& row, const std::string& stage, const std::string& command, int needs = -1) {
    Step& step = plan.steps.emplace_back();
    step.row = row;
    step.stage = stage;
    step.command = command;
    step.log = plan.folder / (row + "_" + stage + ".log");
    step.needs = needs;
    return step;
  }

  void run(RunOptions options = {}) {
    results = run_plan(plan, options);
    statuses.clear();
    for (const Result& result : results) statuses.push_back(result.status);
  }

  std::string results_log() const { return read_file(plan.folder / "results_python.log"); }

  TempDir dir;
  Plan plan;
  std::vector<Result> results;
  std::vector<Status> statuses;
};

TEST_F(TipcRunner, ReportsEachCommand) {
  add("a", "train", "echo trained");
  Step& infer = add("a", "infer", "echo inferred", 0);
  infer.shows_log = true;
  add("a", "gpu", "false", 0).skip = "no CUDA device";
  run();
  EXPECT_THAT(statuses, ElementsAre(Status::kPassed, Status::kPassed, Status::kSkipped));
  EXPECT_EQ(read_file(plan.steps[0].log), "trained\n");
  EXPECT_EQ(results_log(),
            " Run successfully with command - echo trained!\n"
            " Run successfully with command - echo inferred > " +
                plan.steps[1].log.string() +
                " 2>&1 !\n"
                " Run skipped with command - false : no CUDA device\n");
  run();  // a second run appends
  EXPECT_THAT(results_log(), HasSubstr("no CUDA device\n Run successfully with command - echo trained!\n"));
}

TEST_F(TipcRunner, AFailureHasTheEndOfItsLog) {
  add("a", "train", "seq 100; exit 3");
  run();
  EXPECT_EQ(results[0].reason, "exit code 3");
  EXPECT_EQ(results[0].tail.size(), 15u);
  EXPECT_EQ(results[0].tail.back(), "100");
  EXPECT_THAT(
      results_log(),
      HasSubstr(" Run failed with command - seq 100; exit 3!\n   a, train: exit code 3; the end of "));
  EXPECT_THAT(results_log(), HasSubstr("   | 86\n"));
}

TEST_F(TipcRunner, TheEndOfASharedLogIsThatOfTheCommand) {
  add("a", "infer", "echo first");
  Step& second = add("b", "infer", "echo second; exit 1");
  second.log = plan.steps[0].log;
  second.appends = true;
  run();
  EXPECT_EQ(read_file(second.log), "first\nsecond\n");
  EXPECT_THAT(results[1].tail, ElementsAre("second"));
}

TEST_F(TipcRunner, WhatNeedsAFailedStepIsNotRun) {
  add("a", "train", "false");
  add("a", "eval", "true", 0);
  add("a", "export", "true", 0);
  add("a", "infer", "true", 2);
  add("b", "train", "true");
  run();
  EXPECT_THAT(statuses, ElementsAre(Status::kFailed, Status::kSkipped, Status::kSkipped, Status::kSkipped,
                                    Status::kPassed));
  EXPECT_EQ(results[2].reason, "its input is missing, because a train failed");
  EXPECT_EQ(results[3].reason, "its input is missing, because a export was skipped");
}

TEST_F(TipcRunner, FailFastStopsAtTheFirstFailure) {
  add("a", "train", "false");
  add("b", "train", "true");
  run({.fail_fast = true});
  EXPECT_THAT(statuses, ElementsAre(Status::kFailed, Status::kSkipped));
  EXPECT_EQ(results[1].reason, "an earlier command failed");
}

TEST_F(TipcRunner, WhatAnEarlierRunLeftDoesNotCount) {
  Step& step = add("a", "train", "true");
  step.folder = dir / "out";
  step.makes = dir / "out/latest";
  std::filesystem::create_directory(dir / "out");
  write_file(dir / "out/latest.pdparams", "old");
  run();
  EXPECT_EQ(results[0].reason, "it wrote no " + step.makes.string());
  plan.steps[0].command = "touch " + (dir / "out/latest.pdparams").string();
  run();
  EXPECT_THAT(statuses, ElementsAre(Status::kPassed));  // `latest` is how the name begins
}

TEST_F(TipcRunner, AHangingCommandIsAFailure) {
  add("a", "train", "echo begun; sleep 100");
  add("b", "train", "true");
  run({.timeout = std::chrono::milliseconds(300)});
  EXPECT_THAT(statuses, ElementsAre(Status::kFailed, Status::kPassed));
  EXPECT_EQ(results[0].reason, "stopped at its time limit of 0.3 s");
  EXPECT_THAT(results[0].tail, ElementsAre("begun"));
}

TEST_F(TipcRunner, AStopEndsWhatRunsAndStartsNothingMore) {
  add("a", "train", "touch " + (dir / "begun").string() + "; sleep 100");
  add("b", "train", "true");
  run({.stop = [&] { return std::filesystem::exists(dir / "begun"); }});
  EXPECT_THAT(statuses, ElementsAre(Status::kFailed, Status::kSkipped));
  EXPECT_EQ(results[0].reason, "interrupted");
  EXPECT_EQ(results[1].reason, "interrupted");
}

TEST_F(TipcRunner, JobsRunRowsAtOnceButARowInOrder) {
  // Each row waits for the other: one after the other they would not end.
  const std::string a = (dir / "a").string(), b = (dir / "b").string();
  add("a", "train", "touch " + a + "; while ! [ -e " + b + " ]; do sleep 0.02; done");
  add("a", "eval", "rm " + a, 0);
  add("b", "train", "touch " + b + "; while ! [ -e " + a + " ] && ! [ -e " + a + "2 ]; do sleep 0.02; done");
  plan.steps[1].command = "touch " + a + "2; rm " + a;
  run({.timeout = std::chrono::seconds(20), .jobs = 2});
  EXPECT_THAT(statuses, ElementsAre(Status::kPassed, Status::kPassed, Status::kPassed));
}

TEST_F(TipcRunner, CommandsSeeTheEnvironment) {
  add("a", "train", "echo $ONE $TWO").environment = {"TWO=2"};
  run({.environment = {"ONE=1"}});
  EXPECT_EQ(read_file(plan.steps[0].log), "1 2\n");
}

TEST_F(TipcRunner, AFolderThatCannotBeMadeIsAnError) {
  write_file(dir / "log", "a file");
  add("a", "train", "true");
  EXPECT_THROW(run(), Error);
}

TEST_F(TipcRunner, WritesJUnit) {
  add("a", "train", "echo '<&\">'; exit 2");
  add("a", "eval", "true", 0);
  add("b", "train", "true");
  run();
  const std::string text = to_junit(plan, results);
  EXPECT_THAT(
      text,
      HasSubstr("<testsuite name=\"net.lite_train_lite_infer\" tests=\"3\" failures=\"1\" skipped=\"1\" "));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"net.lite_train_lite_infer.a\" name=\"train: echo "
                              "'&lt;&amp;&quot;&gt;'; exit 2\" time=\"0."));
  EXPECT_THAT(text,
              HasSubstr("><failure message=\"exit code 2\">&lt;&amp;&quot;&gt;\n</failure></testcase>"));
  EXPECT_THAT(text,
              HasSubstr("><skipped message=\"its input is missing, because a train failed\"/></testcase>"));
}

}  // namespace
}  // namespace octet::tipc
