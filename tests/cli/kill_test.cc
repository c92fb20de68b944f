#include <gmock/gmock.h>

#include "support/fault_runner.h"
#include "support/sandbox.h"

// Commands that are killed before each step with which they change the disk: what is there afterwards is the
// old state or the new one, the next run works, and leaves nothing behind.
namespace octet {
namespace {

namespace fs = std::filesystem;

// `before` and `after` are commands that write to the folder out/ of the sandbox. `same` says whether two
// states are the same one.
void sweep(const std::string& before, const std::string& after,
           const std::function<bool(const Files&, const Files&)>& same = std::equal_to<Files>()) {
  Sandbox box;
  const fs::path out = box / "out";
  const auto start_over = [&](const Files& files) {
    fs::remove_all(out);
    fs::create_directory(out);
    for (const auto& [name, content] : files) write_file(out / name, content);
  };
  const auto run = [&](const std::string& command) {
    const ProgramResult result = run_shell("octet " + command, box.path());
    ASSERT_EQ(result.exit_code, 0) << command << ": " << result.err;
  };
  start_over({});
  run(before);
  const Files old_files = files_in(out);
  run(after);
  const Files new_files = files_in(out);
  ASSERT_FALSE(same(old_files, new_files));
  int at = 0, seen_old = 0, seen_new = 0;
  for (;;) {
    start_over(old_files);
    const ProgramResult result = run_killed(after, ++at, box.path());
    if (result.exit_code == 0) break;
    ASSERT_EQ(result.exit_code, 128 + SIGKILL) << after << ": " << result.err;
    const Files found = read_together(out);
    const bool is_old = same(found, old_files), is_new = same(found, new_files);
    EXPECT_TRUE(is_old || is_new) << after << ", killed at step " << at;
    seen_old += is_old;
    seen_new += is_new;
    // The next run works, from what the kill has left, and cleans up.
    start_over(old_files);
    run_killed(after, at, box.path());
    run(after);
    EXPECT_TRUE(same(files_in(out), new_files)) << after << ", after a kill at step " << at;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(same(files_in(out), new_files));
  EXPECT_GE(seen_old, 3) << after;
  EXPECT_GE(seen_new, 1) << after;  // the sync that ends each commit comes after its rename
}

TEST(Kill, Convert) {
  sweep("convert --model model --output out", "convert --model scores --output out");
}

TEST(Kill, Export) {
  const std::string command =
      "export --width 0.25 --img-size 32 --pretrained checkpoint --save_inference_dir out";
  sweep(command, command + " --no-softmax --mean 0,0,0");
}

TEST(Kill, Ptq) {
  const std::string command =
      "ptq --model-path scores --data-dir photos --resize-size 4 --crop-size 4 --batch-size 3 "
      "--output-dir out";
  sweep(command + " --weight-bits 8", command + " --weight-bits 4");
}

TEST(Kill, PtqStatistics) {
  const std::string command =
      "ptq --model-path scores --data-dir photos --resize-size 4 --crop-size 4 --output-dir int8";
  sweep(command + " --batch-size 3 --save-stats out/stats",
        command + " --batch-size 1 --save-stats out/stats");
}

TEST(Kill, Run) {
  const std::string outputs = " --output out/a.npy --output x=out/b.npy";
  sweep("run --model model --input x.npy" + outputs, "run --model scores --input x.npy" + outputs);
}

TEST(Kill, EvalJson) {
  const std::string command =
      "eval --resize-size 4 --crop-size 4 --data-dir photos --json out/a.json --model-path ";
  // The times in it differ.
  const auto same = [](const Files& a, const Files& b) {
    const auto name = [](const Files& files) {
      const std::string& text = files.size() == 1 ? files.at("a.json") : "";
      return text.ends_with("}\n") ? text.substr(0, text.find("ms_per_image")) : "";
    };
    return name(a) == name(b);
  };
  sweep(command + "model", command + "scores", same);
}

}  // namespace
}  // namespace octet
