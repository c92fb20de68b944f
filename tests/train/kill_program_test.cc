#include "support/fault_runner.h"
#include "train/training_folder.h"

// A training run that is killed before each rename. (kill_test.cc does it at every write and sync, too, with
// commands that take less time.)
namespace octet::testing {
namespace {

namespace fs = std::filesystem;

// The bytes of the checkpoint STEM; both are empty if it is not there.
std::pair<std::string, std::string> checkpoint(const Files& files, const std::string& stem) {
  const auto bytes = [&](const std::string& name) { return files.contains(name) ? files.at(name) : ""; };
  return {bytes(stem + ".pdparams"), bytes(stem + ".pdopt")};
}

TEST(KillTrainProgram, LeavesTheCheckpointsOfBeforeOrOfAfterAndGoesOn) {
  const Pictures pictures;
  const fs::path out = pictures / "out";
  ASSERT_EQ(pictures.train("--epochs 1").exit_code, 0);
  const Files old_files = files_in(out);
  const std::string more = "--iters 7 --resume out";  // an epoch has six
  ASSERT_EQ(pictures.train(more).exit_code, 0);
  const Files new_files = files_in(out);
  const std::vector<std::string> stems = {"latest", "best", "model_0", "model_1"};
  const auto same = [&](const Files& a, const Files& b) {
    return std::ranges::all_of(stems,
                               [&](const auto& stem) { return checkpoint(a, stem) == checkpoint(b, stem); });
  };
  ASSERT_FALSE(same(old_files, new_files));
  int seen_old = 0, seen_new = 0;
  for (int at = 1;; ++at) {
    fs::remove_all(out);
    fs::create_directory(out);
    for (const auto& [name, content] : old_files) write_file(out / name, content);
    const ProgramResult result = run_killed(Pictures::command(more).substr(6), at, pictures.path(), "rename");
    if (result.exit_code == 0) break;
    ASSERT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    const bool goes_on = at % 4 == 0;
    if (goes_on) {  // from what the kill has left
      const ProgramResult next = pictures.train(more);
      ASSERT_EQ(next.exit_code, 0) << "killed at step " << at << ": " << next.err;
      EXPECT_EQ(files_in(out).size(), new_files.size()) << "after a kill at step " << at;
    }
    const Files found = read_together(out);
    const bool is_old = same(found, old_files), is_new = same(found, new_files);
    EXPECT_TRUE(goes_on ? is_new : is_old || is_new) << "killed at step " << at;
    seen_old += is_old;
    seen_new += is_new && !goes_on;
  }
  EXPECT_GE(seen_old, 1);
  EXPECT_GE(seen_new, 1);
}

}  // namespace
}  // namespace octet::testing
